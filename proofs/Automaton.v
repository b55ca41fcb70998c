(** Automata: when the words that a monoid accepts are those of an automaton. *)

From Coq Require Import List Arith Lia Bool.
From Unmask Require Import Monoid.
Import ListNotations.

(** Row q of the table lists where the letters lead from q. *)
Record automaton := { start : nat; table : list (list nat); final : list nat }.

Definition next_state (a : automaton) (q t : nat) : nat := nth t (nth q (table a) []) 0.
Definition is_final (a : automaton) (q : nat) : bool := existsb (Nat.eqb q) (final a).
Definition accepts (a : automaton) (word : list nat) : bool := is_final a (fold_left (next_state a) word (start a)).

(** [states] gives for every element the state to which its words lead from the start. *)
Definition follows (m : monoid) (a : automaton) (states : list nat) : bool :=
  let state x := nth x states 0 in
  (state 0 =? start a)
  && forallb (fun x => forallb (fun t => state (product m x (letter m t)) =? next_state a (state x) t)
                               (seq 0 (length (letters m)))) (seq 0 (size m))
  && forallb (fun x => Bool.eqb (accepting m x) (is_final a (state x))) (seq 0 (size m)).

Theorem recognises_the_language : forall m a states word, lawful m -> follows m a states = true -> is_word m word ->
  accepting m (element_of_word m word) = accepts a word.
Proof.
  intros m a states word laws H Hword. unfold follows in H. apply andb_true_iff in H. destruct H as [H Hfinal].
  apply andb_true_iff in H. destruct H as [Hstart Hstep]. apply Nat.eqb_eq in Hstart. rewrite forallb_forall in *.
  assert (walk : forall word x q, is_word m word -> x < size m -> nth x states 0 = q ->
            fold_left (fun a t => product m a (letter m t)) word x < size m
            /\ nth (fold_left (fun a t => product m a (letter m t)) word x) states 0 = fold_left (next_state a) word q).
  { clear Hword word. induction word as [|t word IH]; intros x q Hw Hx Hq; [simpl; auto|]. inversion Hw; subst. simpl.
    apply IH; [assumption | apply closed; [assumption | assumption | apply letter_is_element; assumption]|].
    specialize (Hstep x ltac:(apply in_seq; lia)). rewrite forallb_forall in Hstep.
    apply Nat.eqb_eq, Hstep. apply in_seq. lia. }
  destruct (walk word 0 (start a) Hword (inhabited m laws) Hstart) as [Hin Hend].
  unfold accepts, element_of_word. rewrite <- Hend. apply Bool.eqb_prop, Hfinal. apply in_seq. lia.
Qed.
