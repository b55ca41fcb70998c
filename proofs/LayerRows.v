(** What a layer does to one row, once it is known what its heads give: column by column. *)

From Coq Require Import ZArith Lia List.
From Unmask Require Import Numbers Sums Exponential Layer Forms.
Import ListNotations.
Open Scope Z_scope.

Section Rows.
  Variables (p : Z) (e : exponential p).
  Hypothesis p_positive : 1 <= p.

  Lemma sum_of_known_heads : forall own rows hs results total,
    Forall2 (fun h result => attend p e h own rows = Some result) hs results ->
    sum_of_heads p e total hs own rows = Some (fold_left (plus p) results total).
  Proof.
    intros own rows hs results total H. revert total.
    induction H as [|h result hs results Hh H IH]; intro total; simpl; [reflexivity|].
    rewrite Hh. apply IH.
  Qed.

  Lemma fold_plus_length : forall results (total : vector), (forall r, In r results -> length r = length total) ->
    length (fold_left (plus p) results total) = length total.
  Proof.
    induction results as [|r results IH]; intros total H; simpl; [reflexivity|].
    rewrite IH; [apply plus_length; symmetry; apply H; left; reflexivity|].
    intros s Hs. rewrite plus_length by (symmetry; apply H; left; reflexivity). apply H. right. assumption.
  Qed.

  (** A column of the sum of heads: the heads' columns, summed left to right. *)
  Lemma at_fold_plus : forall results (total : vector) k,
    (forall r, In r results -> length r = length total) -> (k < length total)%nat ->
    at_column (fold_left (plus p) results total) k
    = sum_from p (at_column total k) (map (fun r => at_column r k) results).
  Proof.
    induction results as [|r results IH]; intros total k H Hk; simpl; [reflexivity|].
    assert (Hr : length total = length r) by (symmetry; apply H; left; reflexivity).
    rewrite IH.
    - rewrite at_plus by assumption. reflexivity.
    - intros s Hs. rewrite plus_length by assumption. apply H. right. assumption.
    - rewrite plus_length by assumption. assumption.
  Qed.

  Lemma at_zeros : forall (own : vector) k, at_column (map (fun _ => 0) own) k = 0.
  Proof.
    intros own k. unfold at_column. revert k. induction own as [|x own IH]; intros [|k]; simpl; auto.
  Qed.

  (** The row before the MLP: (SUM over heads) + own. *)
  Definition attended (own : vector) (results : list vector) : vector :=
    plus p (fold_left (plus p) results (map (fun _ => 0) own)) own.

  Lemma layer_row_of_heads : forall l own rows results,
    Forall2 (fun h result => attend p e h own rows = Some result) (heads l) results ->
    layer_row p e l rows own
    = Some (plus p (attended own results) (mlp_output p (feed_forward l) (attended own results))).
  Proof.
    intros l own rows results H. unfold layer_row.
    rewrite (sum_of_known_heads own rows (heads l) results) by assumption.
    reflexivity.
  Qed.

  Lemma attended_length : forall own results, (forall r, In r results -> length r = length own) ->
    length (attended own results) = length own.
  Proof.
    intros own results H. unfold attended.
    assert (Hf : length (fold_left (plus p) results (map (fun _ => 0) own)) = length own).
    { rewrite fold_plus_length; rewrite map_length; [reflexivity | assumption]. }
    rewrite plus_length; assumption.
  Qed.

  Lemma at_attended : forall own results k, (forall r, In r results -> length r = length own) -> (k < length own)%nat ->
    at_column (attended own results) k = add p (sum p (map (fun r => at_column r k) results)) (at_column own k).
  Proof.
    intros own results k H Hk. unfold attended.
    assert (Hz : length (map (fun _ : Z => 0) own) = length own) by apply map_length.
    rewrite at_plus; rewrite ?fold_plus_length; rewrite ?Hz; try assumption; try reflexivity.
    rewrite at_fold_plus; rewrite ?Hz; try assumption. rewrite at_zeros. reflexivity.
  Qed.

  (** If no row is an error, the layer gives a row for each, and what holds of each result holds of its row. *)
  Lemma run_layer_rows : forall l rows (P : nat -> vector -> Prop),
    (forall i, (i < length rows)%nat -> exists result, layer_row p e l rows (nth i rows []) = Some result
      /\ P i result) ->
    exists next, run_layer p e rows l = Some next /\ length next = length rows
                 /\ forall i, (i < length rows)%nat -> P i (nth i next []).
  Proof.
    intros l rows P H. unfold run_layer.
    assert (general : forall (f : vector -> option vector) xs (Q : nat -> vector -> Prop),
              (forall i, (i < length xs)%nat -> exists y, f (nth i xs []) = Some y /\ Q i y) ->
              exists ys, all_or_error (map f xs) = Some ys /\ length ys = length xs
                         /\ forall i, (i < length xs)%nat -> Q i (nth i ys [])).
    { intros f xs. induction xs as [|x xs IH]; intros Q HQ.
      - exists []. repeat split. intros i Hi. simpl in Hi. lia.
      - destruct (HQ 0%nat ltac:(simpl; lia)) as [y [Hy Qy]]. simpl in Hy.
        destruct (IH (fun i => Q (S i))) as [ys [Hys [Hlength Hall]]].
        { intros i Hi. apply (HQ (S i)). simpl. lia. }
        exists (y :: ys). simpl. rewrite Hy, Hys. repeat split; [simpl; lia|].
        intros [|i] Hi; [assumption | apply Hall; simpl in Hi; lia]. }
    apply general. assumption.
  Qed.
End Rows.
