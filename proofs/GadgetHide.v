(** HIDE: the column (-B·one | flag), twice. Flagged keys are invisible to a head with any columns before it:
    the head gives exactly what it would give if these rows were not there, its error included. *)

From Coq Require Import ZArith Lia List Bool.
From Unmask Require Import Numbers Flags Sums Exponential Layer Forms Attention.
Import ListNotations.
Open Scope Z_scope.

Section Hide.
  Variable p : Z.
  Hypothesis p_positive : 1 <= p.

  Definition hide_column (always flag : nat) : column_pair := ([(always, - bound p)], [(flag, one p)]).
  Definition hide_columns (always flag : nat) : list column_pair := [hide_column always flag; hide_column always flag].

  Lemma hide_term : forall always flag own row, at_column own always = one p -> is_flag p (at_column row flag) ->
    column_term p own row (hide_column always flag)
    = if at_column row flag =? 0 then 0 else - bound p.
  Proof.
    intros always flag own row Hown Hflag. unfold column_term, hide_column. simpl. rewrite !apply_single by assumption.
    rewrite Hown.
    pose proof (one_representable p p_positive) as Hone. pose proof (bound_representable p p_positive) as HB.
    apply opposite_representable in HB. pose proof (one_at_least_2 p p_positive).
    rewrite (one_multiply p (- bound p)) by assumption. destruct Hflag as [-> | ->].
    - simpl. rewrite multiply_0_l, multiply_0_r by assumption. reflexivity.
    - rewrite (multiply_one p (one p)), multiply_one by assumption. destruct (Z.eqb_spec (one p) 0); [lia|reflexivity].
  Qed.

  Theorem hide_score : forall columns always flag own row,
    at_column own always = one p -> is_flag p (at_column row flag) ->
    score p (columns ++ hide_columns always flag) own row
    = if at_column row flag =? 0 then score p columns own row else - bound p.
  Proof.
    intros columns always flag own row Hown Hflag. rewrite score_app. unfold hide_columns, sum_from. cbn [map].
    rewrite !hide_term by assumption. simpl.
    pose proof (score_representable p columns own row p_positive) as Hs. unfold representable in Hs.
    destruct (at_column row flag =? 0); unfold add, clip; lia.
  Qed.

  Theorem hide_makes_invisible : forall (e : exponential p) width columns value always flag
      (own : vector) (rows : list vector),
    fit width columns -> (always < width)%nat -> (flag < width)%nat ->
    length own = width -> at_column own always = one p ->
    (forall row, In row rows -> length row = width /\ is_flag p (at_column row flag)) ->
    attend p e (head_of width (columns ++ hide_columns always flag) value) own rows
    = attend p e (head_of width columns value) own (filter (fun row => at_column row flag =? 0) rows).
  Proof.
    intros e width columns value always flag own rows Hfit Halways Hflag Hlength Hown Hrows.
    apply attend_visible_rows; try assumption.
    - apply Forall_app. split; [assumption|]. repeat constructor; assumption.
    - intros row Hrow. apply Hrows. assumption.
    - intros row Hrow. destruct (Hrows row Hrow) as [_ H]. unfold weight_of. rewrite hide_score by assumption.
      destruct (at_column row flag =? 0); [reflexivity | apply exp_minus_bound; assumption].
  Qed.
End Hide.
