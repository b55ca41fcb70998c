(** Numbers of F_p: integers a with |a| <= 4^p - 1 that mean a / 2^p.

    [x]   nearest number, ties toward zero, clipped to ±B
    a·b = [ab],   a/b = [a/b],   a + b = clip (a + b)

    Everything is written over the integers a, as in a model folder: 1 is [one p] = 2^p, B is [bound p] = 4^p - 1. *)

From Coq Require Import ZArith Lia.
Open Scope Z_scope.

Definition one (p : Z) : Z := 2 ^ p.
Definition bound (p : Z) : Z := 4 ^ p - 1.
Definition representable (p a : Z) : Prop := - bound p <= a <= bound p.

Definition clip (p a : Z) : Z := Z.max (- bound p) (Z.min (bound p) a).

(** [numerator / denominator] without the clip, denominator > 0: sign · ((2·|numerator| + d - 1) div 2d). *)
Definition nearest (numerator denominator : Z) : Z :=
  Z.sgn numerator * ((2 * Z.abs numerator + denominator - 1) / (2 * denominator)).

Definition multiply (p a b : Z) : Z := clip p (nearest (a * b) (one p)).
Definition divide (p a b : Z) : Z := clip p (nearest (a * one p) b).
Definition add (p a b : Z) : Z := clip p (a + b).
Definition relu (a : Z) : Z := Z.max a 0.

(** The other coefficients that a program may name: [B/2], 2^-p and 2^(p-1). *)
Definition half_bound (p : Z) : Z := bound p / 2.
Definition ulp : Z := 1.
Definition top (p : Z) : Z := 2 ^ (2 * p - 1).

Lemma bound_is_square : forall p, 1 <= p -> bound p = one p * one p - 1.
Proof.
  intros p Hp. unfold bound, one. rewrite <- Z.pow_add_r by lia.
  replace (p + p) with (2 * p) by lia. rewrite Z.pow_mul_r by lia. reflexivity.
Qed.

Lemma one_at_least_2 : forall p, 1 <= p -> 2 <= one p.
Proof.
  intros p Hp. unfold one. change 2 with (2 ^ 1) at 1. apply Z.pow_le_mono_r; lia.
Qed.

Lemma one_at_least_4 : forall p, 2 <= p -> 4 <= one p.
Proof.
  intros p Hp. unfold one. change 4 with (2 ^ 2). apply Z.pow_le_mono_r; lia.
Qed.

Lemma one_below_bound : forall p, 1 <= p -> one p < bound p.
Proof.
  intros p Hp. rewrite bound_is_square by assumption. pose proof (one_at_least_2 p Hp). nia.
Qed.

(** For p >= 2 the number 3 is in F_p. *)
Lemma three_ones_below_bound : forall p, 2 <= p -> 3 * one p < bound p.
Proof.
  intros p Hp. rewrite bound_is_square by lia. pose proof (one_at_least_4 p Hp). nia.
Qed.

Lemma half_of_bound : forall p, 1 <= p -> 2 * half_bound p = bound p - 1.
Proof.
  intros p Hp. unfold half_bound.
  assert (even : exists k, one p = 2 * k).
  { exists (2 ^ (p - 1)). unfold one. replace p with (1 + (p - 1)) at 1 by lia. rewrite Z.pow_add_r by lia. lia. }
  destruct even as [k Hk]. rewrite bound_is_square by assumption. rewrite Hk.
  replace (2 * k * (2 * k) - 1) with (1 + (2 * k * k - 1) * 2) by lia.
  rewrite Z.div_add by lia. replace (1 / 2) with 0 by reflexivity. lia.
Qed.

Lemma twice_top : forall p, 1 <= p -> 2 * top p = bound p + 1.
Proof.
  intros p Hp. unfold top, bound. replace 4 with (2 ^ 2) by reflexivity.
  rewrite <- Z.pow_mul_r by lia. replace (2 * p) with (1 + (2 * p - 1)) at 2 by lia.
  rewrite Z.pow_add_r by lia. lia.
Qed.

Lemma bound_positive : forall p, 1 <= p -> 3 <= bound p.
Proof.
  intros p Hp. rewrite bound_is_square by assumption. pose proof (one_at_least_2 p Hp). nia.
Qed.

Lemma clip_representable : forall p a, 1 <= p -> representable p (clip p a).
Proof. intros p a Hp. pose proof (bound_positive p Hp). unfold representable, clip. lia. Qed.

Lemma clip_identity : forall p a, representable p a -> clip p a = a.
Proof. unfold representable, clip. lia. Qed.

(** Rounding keeps what is on the grid. *)
Lemma nearest_exact : forall a d, 0 < d -> nearest (a * d) d = a.
Proof.
  intros a d Hd. unfold nearest. rewrite Z.abs_mul, (Z.abs_eq d) by lia.
  replace (2 * (Z.abs a * d) + d - 1) with (d - 1 + Z.abs a * (2 * d)) by lia.
  rewrite Z.div_add, (Z.div_small (d - 1)) by lia.
  rewrite Z.sgn_mul, (Z.sgn_pos d) by lia. rewrite Z.mul_1_r, Z.add_0_l, Z.mul_comm. apply Z.abs_sgn.
Qed.

Lemma nearest_opp : forall a d, nearest (- a) d = - nearest a d.
Proof. intros a d. unfold nearest. rewrite Z.sgn_opp, Z.abs_opp. lia. Qed.

Lemma multiply_representable : forall p a b, 1 <= p -> representable p (multiply p a b).
Proof. intros. apply clip_representable. assumption. Qed.

Lemma multiply_comm : forall p a b, multiply p a b = multiply p b a.
Proof. intros p a b. unfold multiply. rewrite Z.mul_comm. reflexivity. Qed.

Lemma multiply_one : forall p a, 1 <= p -> representable p a -> multiply p a (one p) = a.
Proof.
  intros p a Hp Ha. unfold multiply. pose proof (one_at_least_2 p Hp).
  rewrite nearest_exact by lia. apply clip_identity. assumption.
Qed.

Lemma multiply_minus_one : forall p a, 1 <= p -> representable p a -> multiply p a (- one p) = - a.
Proof.
  intros p a Hp Ha. unfold multiply. pose proof (one_at_least_2 p Hp).
  rewrite Z.mul_opp_r, nearest_opp, nearest_exact by lia. apply clip_identity. unfold representable in *. lia.
Qed.

Lemma one_multiply : forall p a, 1 <= p -> representable p a -> multiply p (one p) a = a.
Proof. intros. rewrite multiply_comm. apply multiply_one; assumption. Qed.

Lemma minus_one_multiply : forall p a, 1 <= p -> representable p a -> multiply p (- one p) a = - a.
Proof. intros. rewrite multiply_comm. apply multiply_minus_one; assumption. Qed.

Lemma multiply_0_r : forall p a, 1 <= p -> multiply p a 0 = 0.
Proof.
  intros p a Hp. unfold multiply. rewrite Z.mul_0_r. unfold nearest. simpl.
  apply clip_identity. pose proof (bound_positive p Hp). unfold representable. lia.
Qed.

Lemma multiply_0_l : forall p a, 1 <= p -> multiply p 0 a = 0.
Proof. intros. rewrite multiply_comm. apply multiply_0_r. assumption. Qed.

(** A weight [a / a] is 1, exactly. *)
Lemma divide_self : forall p a, 1 <= p -> 0 < a -> divide p a a = one p.
Proof.
  intros p a Hp Ha. unfold divide. rewrite Z.mul_comm, nearest_exact by assumption.
  apply clip_identity. pose proof (one_below_bound p Hp). pose proof (one_at_least_2 p Hp). unfold representable. lia.
Qed.

Lemma divide_0 : forall p a, 1 <= p -> divide p 0 a = 0.
Proof.
  intros p a Hp. unfold divide. simpl. unfold nearest. simpl.
  apply clip_identity. pose proof (bound_positive p Hp). unfold representable. lia.
Qed.

Lemma one_representable : forall p, 1 <= p -> representable p (one p).
Proof.
  intros p Hp. pose proof (one_below_bound p Hp). pose proof (one_at_least_2 p Hp). unfold representable. lia.
Qed.

Lemma zero_representable : forall p, 1 <= p -> representable p 0.
Proof. intros p Hp. pose proof (bound_positive p Hp). unfold representable. lia. Qed.

Lemma bound_representable : forall p, 1 <= p -> representable p (bound p).
Proof. intros p Hp. pose proof (bound_positive p Hp). unfold representable. lia. Qed.

Lemma opposite_representable : forall p a, representable p a -> representable p (- a).
Proof. unfold representable. lia. Qed.
