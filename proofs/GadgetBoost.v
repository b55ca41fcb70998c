(** BOOST: the column (B·flag | one), twice. A flagged query scores B on every key, whatever the columns before say,
    so that it weighs all keys alike and never divides by zero; an unflagged query is left as it is. *)

From Coq Require Import ZArith Lia List Bool.
From Unmask Require Import Numbers Flags Sums Exponential Layer Forms Attention GadgetHide.
Import ListNotations.
Open Scope Z_scope.

Section Boost.
  Variable p : Z.
  Hypothesis p_positive : 1 <= p.

  Definition boost_column (always flag : nat) : column_pair := ([(flag, bound p)], [(always, one p)]).
  Definition boost_columns (always flag : nat) : list column_pair :=
    [boost_column always flag; boost_column always flag].

  Lemma boost_term : forall always flag own row, at_column row always = one p -> is_flag p (at_column own flag) ->
    column_term p own row (boost_column always flag)
    = if at_column own flag =? 0 then 0 else bound p.
  Proof.
    intros always flag own row Hrow Hflag. unfold column_term, boost_column. simpl. rewrite !apply_single by assumption.
    rewrite Hrow.
    pose proof (one_representable p p_positive) as Hone. pose proof (bound_representable p p_positive) as HB.
    pose proof (one_at_least_2 p p_positive).
    rewrite (multiply_one p (one p)) by assumption. destruct Hflag as [-> | ->].
    - simpl. rewrite !multiply_0_l by assumption. reflexivity.
    - rewrite one_multiply, multiply_one by assumption. destruct (Z.eqb_spec (one p) 0); [lia|reflexivity].
  Qed.

  Theorem boost_score : forall columns always flag own row,
    at_column row always = one p -> is_flag p (at_column own flag) ->
    score p (columns ++ boost_columns always flag) own row
    = if at_column own flag =? 0 then score p columns own row else bound p.
  Proof.
    intros columns always flag own row Hrow Hflag. rewrite score_app. unfold boost_columns, sum_from. cbn [map].
    rewrite !boost_term by assumption. simpl.
    pose proof (score_representable p columns own row p_positive) as Hs. unfold representable in Hs.
    destruct (at_column own flag =? 0); unfold add, clip; lia.
  Qed.

  Lemma boost_fits : forall width columns always flag,
    fit width columns -> (always < width)%nat -> (flag < width)%nat -> fit width (columns ++ boost_columns always flag).
  Proof. intros. apply Forall_app. split; [assumption|]. repeat constructor; assumption. Qed.

  Theorem boost_leaves_unflagged : forall (e : exponential p) width columns value always flag
      (own : vector) (rows : list vector),
    fit width columns -> (always < width)%nat -> (flag < width)%nat -> length own = width -> at_column own flag = 0 ->
    (forall row, In row rows -> length row = width /\ at_column row always = one p) ->
    attend p e (head_of width (columns ++ boost_columns always flag) value) own rows
    = attend p e (head_of width columns value) own rows.
  Proof.
    intros e width columns value always flag own rows Hfit Halways Hflag Hlength Hown Hrows.
    rewrite !attend_head_of; try assumption; try (apply boost_fits; assumption);
      try (intros row Hrow; apply Hrows; assumption).
    apply attend_by_ext. intros row Hrow. unfold weight_of. destruct (Hrows row Hrow) as [_ H].
    rewrite boost_score by (try (left; assumption); assumption). rewrite Hown. reflexivity.
  Qed.

  (** BOOST before HIDE: a flagged query never attends to nothing as long as one key is visible. *)
  Theorem boost_never_divides_by_zero : forall (e : exponential p) width columns value always flag hidden
      (own : vector) (rows : list vector),
    fit width columns -> (always < width)%nat -> (flag < width)%nat -> (hidden < width)%nat ->
    length own = width -> at_column own always = one p -> at_column own flag = one p ->
    (forall row, In row rows -> length row = width /\ at_column row always = one p
                                /\ is_flag p (at_column row hidden)) ->
    (exists row, In row rows /\ at_column row hidden = 0) ->
    attend p e (head_of width ((columns ++ boost_columns always flag) ++ hide_columns p always hidden) value) own rows
    <> None.
  Proof.
    intros e width columns value always flag hidden own rows Hfit Halways Hflag Hhidden Hlength Hone Hown Hrows
           [seen [Hseen Hvisible]].
    rewrite hide_makes_invisible; try assumption; [| apply boost_fits; assumption | intros row Hrow; split; apply Hrows;
      assumption].
    set (visible := filter _ rows).
    assert (Hin : In seen visible) by (apply filter_In; split; [assumption | apply Z.eqb_eq; assumption]).
    assert (Hvis : forall row, In row visible -> In row rows) by (intros row H; apply filter_In in H; tauto).
    rewrite attend_head_of; [| assumption | apply boost_fits; assumption | assumption
                             | intros row Hrow; apply Hrows, Hvis; assumption].
    unfold attend_by. pose proof (bound_positive p p_positive) as HB. pose proof (one_at_least_2 p p_positive).
    assert (boosted : forall row, In row rows -> weight_of p e (columns
      ++ boost_columns always flag) own row = bound p).
    { intros row Hrow. unfold weight_of. destruct (Hrows row Hrow) as [_ [Hr _]].
      rewrite boost_score by (try (right; assumption); assumption). rewrite Hown.
      destruct (Z.eqb_spec (one p) 0); [lia|]. apply exp_bound. assumption. }
    assert (grows : forall rest, (forall row, In row rest -> In row rows) ->
              sum_from p (bound p) (map (weight_of p e (columns ++ boost_columns always flag) own) rest) = bound p).
    { induction rest as [|row rest IH]; intro Hall; [reflexivity|]. unfold sum_from in *. simpl.
      rewrite boosted by (apply Hall; left; reflexivity).
      replace (add p (bound p) (bound p)) with (bound p) by (unfold add, clip; lia).
      apply IH. intros. apply Hall. right. assumption. }
    destruct visible as [|first rest]; [destruct Hin|].
    assert (Hz : sum p (map (weight_of p e (columns ++ boost_columns always flag) own) (first :: rest)) = bound p).
    { unfold sum, sum_from in *. simpl. rewrite boosted by (apply Hvis; left; reflexivity).
      replace (add p 0 (bound p)) with (bound p) by (unfold add, clip; lia).
      apply grows. intros. apply Hvis. right. assumption. }
    rewrite Hz. destruct (Z.eqb_spec (bound p) 0); [lia | discriminate].
  Qed.
End Boost.
