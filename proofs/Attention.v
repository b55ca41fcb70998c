(** What a head gives depends on the exponentials alone: keys whose exponential is 0 might as well not be there,
    and a single key with exponential 1 is copied exactly. *)

From Coq Require Import ZArith Lia List Bool.
From Unmask Require Import Numbers Sums Exponential Layer Forms.
Import ListNotations.
Open Scope Z_scope.

Section Attention.
  Variables (p : Z) (e : exponential p).
  Hypothesis p_positive : 1 <= p.

  (** The attention of a head, as a function of the exponential of each row. *)
  Definition attend_by (weight : vector -> Z) (values : list vector) (rows : list vector) : option vector :=
    let z := sum p (map weight rows) in
    if z =? 0 then None
    else
      let term column row := multiply p (divide p (weight row) z) (inner p row column) in
      Some (map (fun column => sum p (map (term column) rows)) values).

  Lemma attend_is_attend_by : forall h own rows,
    attend p e h own rows
    = attend_by (fun row => e (inner p (times p own (wq h)) (times p row (wk h)))) (wv h) rows.
  Proof.
    intros h own rows. unfold attend, attend_by, exponentials.
    destruct (_ =? 0); [reflexivity|]. f_equal. apply map_ext. intro column.
    unfold inner at 1. rewrite map_map, zip_with_map. reflexivity.
  Qed.

  Lemma attend_by_ext : forall (weight weight' : vector -> Z) values rows,
    (forall row, In row rows -> weight row = weight' row) ->
    attend_by weight values rows = attend_by weight' values rows.
  Proof.
    intros weight weight' values rows same. unfold attend_by. rewrite (map_ext_in _ _ _ same).
    destruct (_ =? 0); [reflexivity|]. f_equal. apply map_ext. intro column. f_equal.
    apply map_ext_in. intros row Hrow. rewrite (same row Hrow). reflexivity.
  Qed.

  Lemma attend_by_filter : forall (weight weight' : vector -> Z) (keep : vector -> bool) values rows,
    (forall row, In row rows -> weight row = if keep row then weight' row else 0) ->
    attend_by weight values rows = attend_by weight' values (filter keep rows).
  Proof.
    intros weight weight' keep values rows H. unfold attend_by.
    assert (same : forall row, In row (filter keep rows) -> weight row = weight' row).
    { intros row Hin. apply filter_In in Hin. destruct Hin as [Hin Hkeep]. rewrite (H row Hin), Hkeep. reflexivity. }
    assert (zero : forall row, In row rows -> keep row = false -> weight row = 0).
    { intros row Hin Hkeep. rewrite (H row Hin), Hkeep. reflexivity. }
    assert (Hz : sum p (map weight rows) = sum p (map weight' (filter keep rows))).
    { rewrite sum_filter with (keep := keep) by assumption. f_equal. apply map_ext_in. assumption. }
    rewrite Hz. destruct (_ =? 0); [reflexivity|]. f_equal. apply map_ext. intro column.
    rewrite sum_filter with (keep := keep).
    - f_equal. apply map_ext_in. intros row Hin. rewrite (same row Hin). reflexivity.
    - assumption.
    - intros row Hin Hkeep. rewrite (zero row Hin Hkeep), divide_0, multiply_0_l by assumption. reflexivity.
  Qed.

  Lemma attend_by_one_row : forall (weight : vector -> Z) values row, weight row = one p ->
    attend_by weight values [row] = Some (times p row values).
  Proof.
    intros weight values row H. unfold attend_by, sum. simpl. rewrite H.
    pose proof (one_at_least_2 p p_positive).
    rewrite add_0_l by (apply one_representable; assumption).
    destruct (Z.eqb_spec (one p) 0); [lia|]. f_equal. apply map_ext. intro column.
    rewrite divide_self by lia.
    rewrite one_multiply by (try apply sum_representable; assumption).
    apply add_0_l. apply sum_representable. assumption.
  Qed.

  Lemma attend_by_drops_zeros : forall (weight : vector -> Z) values before row after,
    weight row = one p ->
    (forall r, In r before -> weight r = 0) -> (forall r, In r after -> weight r = 0) ->
    attend_by weight values (before ++ row :: after) = attend_by weight values [row].
  Proof.
    intros weight values before row after Hrow Hbefore Hafter.
    assert (drop : forall f : vector -> Z, representable p (f row) ->
              (forall r, In r before -> f r = 0) -> (forall r, In r after -> f r = 0) ->
              sum p (map f (before ++ row :: after)) = sum p (map f [row])).
    { intros f Hrep Hb Ha. rewrite map_app, sum_app. simpl. unfold sum.
      rewrite (sum_from_zeros p _ f before) by (try apply zero_representable; assumption).
      rewrite sum_from_zeros by (try apply add_representable; assumption). reflexivity. }
    unfold attend_by.
    rewrite drop; [|rewrite Hrow; apply one_representable; assumption | assumption | assumption].
    destruct (_ =? 0); [reflexivity|]. f_equal. apply map_ext. intro column. apply drop.
    - apply multiply_representable. assumption.
    - intros r Hr. rewrite Hbefore, divide_0, multiply_0_l by assumption. reflexivity.
    - intros r Hr. rewrite Hafter, divide_0, multiply_0_l by assumption. reflexivity.
  Qed.

  (** The same for heads that are given by columns. *)
  Definition weight_of (columns : list column_pair) (own row : vector) : Z := e (score p columns own row).

  Lemma attend_head_of : forall width columns value own rows,
    fit width columns -> length own = width -> (forall row, In row rows -> length row = width) ->
    attend p e (head_of width columns value) own rows
    = attend_by (weight_of columns own) (wv (head_of width columns value)) rows.
  Proof.
    intros width columns value own rows Hfit Hown Hrows. rewrite attend_is_attend_by.
    apply attend_by_ext. intros row Hrow. rewrite head_scores by auto. reflexivity.
  Qed.

  (** Two heads with the same value map: where [keep] holds the exponentials agree, elsewhere the first one's is 0. *)
  Theorem attend_visible_rows : forall width columns columns' value (keep : vector -> bool) own rows,
    fit width columns -> fit width columns' -> length own = width -> (forall row, In row rows -> length row = width) ->
    (forall row, In row rows -> weight_of columns own row = if keep row then weight_of columns' own row else 0) ->
    attend p e (head_of width columns value) own rows
    = attend p e (head_of width columns' value) own (filter keep rows).
  Proof.
    intros width columns columns' value keep own rows Hfit Hfit' Hown Hrows H.
    rewrite !attend_head_of; try assumption.
    - apply attend_by_filter. assumption.
    - intros row Hrow. apply filter_In in Hrow. apply Hrows. tauto.
  Qed.

  (** A unique row with exponential 1, all others 0: the head gives the value map of that row, whatever its values. *)
  Theorem attend_unique_row : forall width columns value own rows target,
    fit width columns -> length own = width -> (forall row, In row rows -> length row = width) ->
    (target < length rows)%nat ->
    (forall j, (j < length rows)%nat ->
       weight_of columns own (nth j rows []) = if Nat.eqb j target then one p else 0) ->
    attend p e (head_of width columns value) own rows
    = Some (times p (nth target rows []) (wv (head_of width columns value))).
  Proof.
    intros width columns value own rows target Hfit Hown Hrows Htarget H.
    rewrite attend_head_of by assumption.
    set (row := nth target rows []).
    assert (split : rows = firstn target rows ++ row :: skipn (S target) rows).
    { rewrite <- (firstn_skipn target rows) at 1. f_equal. unfold row.
      clear - Htarget. revert rows Htarget. induction target as [|n IH]; intros [|r rows] Hn; simpl in *; try lia.
      - reflexivity.
      - apply IH. lia. }
    assert (Hrow : weight_of columns own row = one p).
    { unfold row. rewrite H by assumption. rewrite Nat.eqb_refl. reflexivity. }
    assert (before : forall r, In r (firstn target rows) -> weight_of columns own r = 0).
    { intros r Hr. apply In_nth with (d := []) in Hr. destruct Hr as [j [Hj Hr]].
      rewrite firstn_length in Hj. specialize (H j). destruct (Nat.eqb_spec j target); [lia|].
      rewrite <- H by lia. f_equal. rewrite <- Hr. rewrite split at 2. rewrite app_nth1; [reflexivity|].
      rewrite firstn_length. assumption. }
    assert (after : forall r, In r (skipn (S target) rows) -> weight_of columns own r = 0).
    { intros r Hr. apply In_nth with (d := []) in Hr. destruct Hr as [j [Hj Hr]].
      rewrite skipn_length in Hj. specialize (H (S target + j)%nat).
      destruct (Nat.eqb_spec (S target + j) target); [lia|].
      rewrite <- H by lia. f_equal. rewrite <- Hr.
      rewrite <- (firstn_skipn (S target) rows) at 2.
      rewrite app_nth2 by (rewrite firstn_length; lia). f_equal. rewrite firstn_length. lia. }
    rewrite split. rewrite attend_by_drops_zeros by assumption. apply attend_by_one_row. assumption.
  Qed.
End Attention.
