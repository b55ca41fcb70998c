(** exp on F_p, as the properties that the constructions use. CorrectRounding.v proves them of e^x itself.

    ln 2 < 45/64, so that e^x >= 2^p for x >= (45/64)·p, which rounds and clips to B,
    and e^x <= 2^-(p+1) for x <= -(45/64)·(p+1), which rounds to 0 (lem:our-finite-precision-properties). *)

From Coq Require Import ZArith Lia.
From Unmask Require Import Numbers.
Open Scope Z_scope.

Definition saturated (p x : Z) : Prop := 45 * p * one p <= 64 * x.
Definition vanished (p x : Z) : Prop := 64 * x <= - (45 * (p + 1) * one p).

Record exponential (p : Z) : Type := {
  exp :> Z -> Z;
  exp_range : forall x, representable p x -> 0 <= exp x <= bound p;
  exp_zero : exp 0 = one p;
  exp_monotone : forall x y, representable p x -> representable p y -> x <= y -> exp x <= exp y;
  exp_saturates : forall x, representable p x -> saturated p x -> exp x = bound p;
  exp_vanishes : forall x, representable p x -> vanished p x -> exp x = 0
}.

Lemma p_below_one : forall p, 1 <= p -> p + 1 <= one p.
Proof.
  intros p Hp. unfold one. apply (Zlt_lower_bound_ind (fun p => p + 1 <= 2 ^ p) 1); [|assumption].
  intros q IH Hq. destruct (Z.eq_dec q 1) as [->|]; [reflexivity|].
  specialize (IH (q - 1)). assert (H : q - 1 + 1 <= 2 ^ (q - 1)) by (apply IH; lia).
  replace q with (1 + (q - 1)) at 2 by lia. rewrite Z.pow_add_r by lia. lia.
Qed.

(** exp B = B and exp (-B) = 0, for every p (lem:finite-precision-properties). *)
Lemma bound_vanished : forall p, 1 <= p -> vanished p (- bound p).
Proof.
  intros p Hp. unfold vanished. rewrite bound_is_square by assumption.
  pose proof (p_below_one p Hp). pose proof (one_at_least_2 p Hp).
  destruct (Z.eq_dec (one p) 2) as [E|]; [rewrite E in *; nia | nia].
Qed.

Theorem exp_minus_bound : forall p (e : exponential p), 1 <= p -> e (- bound p) = 0.
Proof.
  intros p e Hp. apply exp_vanishes.
  - apply opposite_representable, bound_representable. assumption.
  - apply bound_vanished. assumption.
Qed.

Theorem exp_bound : forall p (e : exponential p), 1 <= p -> e (bound p) = bound p.
Proof.
  intros p e Hp. apply exp_saturates.
  - apply bound_representable. assumption.
  - unfold saturated. pose proof (bound_vanished p Hp) as H. unfold vanished in H.
    pose proof (one_at_least_2 p Hp). nia.
Qed.

(** An instance for every p, so that no theorem is about nothing: three steps instead of a curve. *)
Definition steps_value (p x : Z) : Z :=
  if 45 * p * one p <=? 64 * x then bound p else if 64 * x <=? - (45 * (p + 1) * one p) then 0 else one p.

Definition three_steps (p : Z) (Hp : 1 <= p) : exponential p.
Proof.
  pose proof (one_at_least_2 p Hp). pose proof (one_below_bound p Hp).
  refine {| exp := steps_value p |}; unfold steps_value, saturated, vanished; intros;
  repeat match goal with |- context [?a <=? ?b] => destruct (Z.leb_spec a b) end; try lia; nia.
Defined.
