(** Flags: the numbers 0 and 1 as truth values. *)

From Coq Require Import ZArith Lia.
From Unmask Require Import Numbers.
Open Scope Z_scope.

Definition flag (p : Z) (b : bool) : Z := if b then one p else 0.
Definition is_flag (p x : Z) : Prop := x = 0 \/ x = one p.

Lemma flag_is_flag : forall p b, is_flag p (flag p b).
Proof. intros p []; [right | left]; reflexivity. Qed.

Lemma flag_representable : forall p b, 1 <= p -> representable p (flag p b).
Proof. intros p b Hp. destruct b; [apply one_representable | apply zero_representable]; assumption. Qed.

Lemma flag_is_zero : forall p b, 1 <= p -> (flag p b =? 0) = negb b.
Proof.
  intros p b Hp. pose proof (one_at_least_2 p Hp). destruct b; simpl; [|reflexivity]. apply Z.eqb_neq. lia.
Qed.

Lemma flag_is_one : forall p b, 1 <= p -> (flag p b =? one p) = b.
Proof.
  intros p b Hp. pose proof (one_at_least_2 p Hp). destruct b; unfold flag; [apply Z.eqb_refl | apply Z.eqb_neq; lia].
Qed.
