(** Tests of numbers in one MLP, for every number of F_p and every p >= 1.

    THRESH   h = ReLU (2^-p - x) twice,  ReLU (1 - 2^(p-1)·h - 2^(p-1)·h) = [x > 0]
    COMPARE  h = ReLU (x - y) twice,     ReLU (1 - 2^(p-1)·h - 2^(p-1)·h) = [x <= y] *)

From Coq Require Import ZArith Lia List Bool Arith.
From Unmask Require Import Numbers Sums Layer Forms.
Import ListNotations.
Open Scope Z_scope.

Section Threshold.
  Variable p : Z.
  Hypothesis p_positive : 1 <= p.

  (** 2^(p-1)·h is exact until it clips: at least 1/2 as soon as h is at least 2^-p. *)
  Lemma multiply_top : forall h, 0 <= h -> multiply p h (- top p) = Z.max (- bound p) (- (h * 2 ^ (p - 1))).
  Proof.
    intros h Hh. unfold multiply, top, one.
    replace (2 * p - 1) with ((p - 1) + p) by lia. rewrite Z.pow_add_r by lia.
    replace (h * - (2 ^ (p - 1) * 2 ^ p)) with ((- (h * 2 ^ (p - 1))) * 2 ^ p) by lia.
    rewrite nearest_exact by (apply Z.pow_pos_nonneg; lia).
    pose proof (bound_positive p p_positive). pose proof (Z.pow_pos_nonneg 2 (p - 1) ltac:(lia) ltac:(lia)).
    unfold clip. nia.
  Qed.

  (** A column that two equal units veto: 1 if they are 0, 0 as soon as they are at least 2^-p. *)
  Definition vetoed_by (first second : nat) : unit_pair := ([(first, - top p); (second, - top p)], one p).

  Lemma veto_value : forall first second hidden h, (first < second)%nat ->
    at_column hidden first = h -> at_column hidden second = h -> 0 <= h ->
    unit_value p (vetoed_by first second) hidden = if h =? 0 then one p else 0.
  Proof.
    intros first second hidden h Hlt H1 H2 Hh. unfold unit_value, vetoed_by, apply_form, sum, sum_from. simpl.
    rewrite H1, H2, multiply_top by assumption.
    assert (Hhalf : one p = 2 * 2 ^ (p - 1)).
    { unfold one. replace p with (1 + (p - 1)) at 1 by lia. rewrite Z.pow_add_r by lia. reflexivity. }
    pose proof (Z.pow_pos_nonneg 2 (p - 1) ltac:(lia) ltac:(lia)).
    pose proof (one_below_bound p p_positive).
    unfold relu, add, clip. destruct (Z.eqb_spec h 0) as [->|]; [lia|].
    assert (2 ^ (p - 1) <= h * 2 ^ (p - 1)) by nia. lia.
  Qed.

  (** A hidden unit by its number. *)
  Lemma hidden_value : forall width units output g k unit,
    Forall (fun u => fits width (fst u)) units -> length g = width -> nth_error units k = Some unit ->
    at_column (hidden_units p (mlp_of width units output) g) k = unit_value p unit g.
  Proof.
    intros width units output g k unit Hfits Hlength Hk. rewrite hidden_units_of by assumption.
    assert (Hlen : (k < length units)%nat) by (apply nth_error_Some; rewrite Hk; discriminate).
    rewrite at_map with (d := unit) by assumption. erewrite nth_error_nth by eassumption. reflexivity.
  Qed.

  Lemma veto_column : forall width units output g target first second unit,
    Forall (fun u => fits width (fst u)) units -> length g = width -> (target < width)%nat ->
    (first < second)%nat -> nth_error units first = Some unit -> nth_error units second = Some unit ->
    output target = vetoed_by first second ->
    at_column (mlp_output p (mlp_of width units output) g) target
    = if unit_value p unit g =? 0 then one p else 0.
  Proof.
    intros width units output g target first second unit Hfits Hlength Htarget Hlt H1 H2 Hout.
    assert (Hlen : (second < length units)%nat) by (apply nth_error_Some; rewrite H2; discriminate).
    rewrite mlp_output_of; try assumption.
    - rewrite Hout. apply veto_value; try assumption.
      + rewrite <- hidden_units_of with (output := output) (width := width) by assumption.
        apply hidden_value; assumption.
      + rewrite <- hidden_units_of with (output := output) (width := width) by assumption.
        apply hidden_value; assumption.
      + unfold unit_value, relu. lia.
    - rewrite Hout. unfold vetoed_by, fits. simpl. repeat constructor; lia.
  Qed.

  Definition below_ulp (x : nat) : unit_pair := ([(x, - one p)], ulp).

  Theorem thresh_is_positive : forall width units output g target first second x,
    Forall (fun u => fits width (fst u)) units -> length g = width -> (target < width)%nat ->
    (first < second)%nat -> nth_error units first = Some (below_ulp x) -> nth_error units second = Some (below_ulp x) ->
    output target = vetoed_by first second -> representable p (at_column g x) ->
    at_column (mlp_output p (mlp_of width units output) g) target = if 0 <? at_column g x then one p else 0.
  Proof.
    intros width units output g target first second x Hfits Hlength Htarget Hlt H1 H2 Hout Hx.
    rewrite veto_column with (first := first) (second := second) (unit := below_ulp x) by assumption.
    unfold unit_value, below_ulp. simpl. rewrite apply_single, multiply_minus_one by assumption.
    pose proof (bound_positive p p_positive). unfold relu, add, clip, ulp, representable in *.
    destruct (Z.ltb_spec 0 (at_column g x)); destruct (Z.eqb_spec (Z.max (Z.max (- bound p) (Z.min (bound p) (-
      at_column g x + 1))) 0) 0);
      reflexivity || lia.
  Qed.

  (** The form x - y, its columns in order. *)
  Definition difference (x y : nat) : unit_pair :=
    (if (x <? y)%nat then [(x, one p); (y, - one p)] else [(y, - one p); (x, one p)], 0).

  Theorem compare_is_at_most : forall width units output g target first second x y,
    Forall (fun u => fits width (fst u)) units -> length g = width -> (target < width)%nat ->
    (first < second)%nat -> nth_error units first = Some (difference x y) ->
      nth_error units second = Some (difference x y) ->
    output target = vetoed_by first second -> representable p (at_column g x) -> representable p (at_column g y) ->
    at_column (mlp_output p (mlp_of width units output) g) target
    = if at_column g x <=? at_column g y then one p else 0.
  Proof.
    intros width units output g target first second x y Hfits Hlength Htarget Hlt H1 H2 Hout Hx Hy.
    rewrite veto_column with (first := first) (second := second) (unit := difference x y) by assumption.
    unfold unit_value, difference, apply_form, sum, sum_from.
    pose proof (bound_positive p p_positive).
    destruct (x <? y)%nat; simpl; rewrite multiply_one, multiply_minus_one by assumption;
      unfold relu, add, clip, representable in *;
      match goal with |- context [?a =? 0] => destruct (Z.eqb_spec a 0) end;
      destruct (Z.leb_spec (at_column g x) (at_column g y)); reflexivity || lia.
  Qed.
End Threshold.
