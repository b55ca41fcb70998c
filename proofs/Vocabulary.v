(** Symbols by number: the letters, then the elements that are no letter's, then mask, reject, accept.

    Every element has one symbol: the first letter that stands for it, or one of its own. *)

From Coq Require Import List Arith Lia Bool.
From Unmask Require Import Monoid.
Import ListNotations.

Section Vocabulary.
  Variable m : monoid.

  (** The first place of an element in a list; the list's length where it is not. *)
  Fixpoint place (a : nat) (l : list nat) : nat :=
    match l with [] => 0 | b :: rest => if b =? a then 0 else S (place a rest) end.

  Definition is_letter (a : nat) : bool := existsb (Nat.eqb a) (letters m).
  Definition nameless : list nat := filter (fun a => negb (is_letter a)) (seq 0 (size m)).

  Definition written : nat := length (letters m) + length nameless.
  Definition mask_symbol : nat := written.
  Definition reject_symbol : nat := written + 1.
  Definition accept_symbol : nat := written + 2.
  Definition symbols : nat := written + 3.

  Definition symbol_of (a : nat) : nat :=
    if is_letter a then place a (letters m) else length (letters m) + place a nameless.

  (** What a symbol stands for; the mask stands for the identity, reject and accept for nothing. *)
  Definition element_of (symbol : nat) : option nat :=
    if symbol <? length (letters m) then Some (letter m symbol)
    else if symbol <? written then Some (nth (symbol - length (letters m)) nameless 0)
    else if symbol =? mask_symbol then Some 0
    else None.

  Definition verdict (a : nat) : nat := if accepting m a then accept_symbol else reject_symbol.

  Lemma place_found : forall a l, In a l -> place a l < length l /\ nth (place a l) l 0 = a.
  Proof.
    intros a l. induction l as [|b l IH]; intros H; [destruct H|]. simpl.
    destruct (Nat.eqb_spec b a) as [->|Hne]; [split; [lia | reflexivity]|].
    destruct H as [->|H]; [contradiction|]. destruct (IH H). split; [lia | assumption].
  Qed.

  Lemma is_letter_spec : forall a, is_letter a = true <-> In a (letters m).
  Proof.
    intro a. unfold is_letter. rewrite existsb_exists. split.
    - intros [b [Hb E]]. apply Nat.eqb_eq in E. subst. assumption.
    - intro H. exists a. split; [assumption | apply Nat.eqb_refl].
  Qed.

  Theorem symbol_of_element : forall a, a < size m -> symbol_of a < written /\ element_of (symbol_of a) = Some a.
  Proof.
    intros a Ha. unfold symbol_of, element_of, written. destruct (is_letter a) eqn:E.
    - apply is_letter_spec in E. destruct (place_found a _ E) as [H1 H2]. split; [lia|].
      destruct (Nat.ltb_spec (place a (letters m)) (length (letters m))); [|lia]. unfold letter. rewrite H2.
      reflexivity.
    - assert (Hin : In a nameless).
      { apply filter_In. split; [apply in_seq; lia | rewrite E; reflexivity]. }
      destruct (place_found a _ Hin) as [H1 H2]. split; [lia|].
      destruct (Nat.ltb_spec (length (letters m) + place a nameless) (length (letters m))); [lia|].
      destruct (Nat.ltb_spec (length (letters m) + place a nameless) (length (letters m) + length nameless)); [|lia].
      replace (length (letters m) + place a nameless - length (letters m)) with (place a nameless) by lia.
      rewrite H2. reflexivity.
  Qed.

  Lemma symbol_of_injective : forall a b, a < size m -> b < size m -> symbol_of a = symbol_of b -> a = b.
  Proof.
    intros a b Ha Hb H. pose proof (symbol_of_element a Ha) as [_ Ea]. pose proof (symbol_of_element b Hb) as [_ Eb].
    rewrite H in Ea. congruence.
  Qed.

  Lemma letter_stands_for : forall t, t < length (letters m) -> t < written /\ element_of t = Some (letter m t).
  Proof.
    intros t H. unfold element_of, written. split; [lia|].
    destruct (Nat.ltb_spec t (length (letters m))); [reflexivity | lia].
  Qed.

  Lemma mask_stands_for_identity : element_of mask_symbol = Some 0.
  Proof.
    unfold element_of, mask_symbol, written.
    destruct (Nat.ltb_spec (length (letters m) + length nameless) (length (letters m))); [lia|].
    rewrite Nat.ltb_irrefl, Nat.eqb_refl. reflexivity.
  Qed.
  Lemma element_is_element : lawful m -> forall symbol a, element_of symbol = Some a -> a < size m.
  Proof.
    intros laws symbol a H. unfold element_of in H. destruct (symbol <? length (letters m)).
    - inversion H. apply letter_is_element. assumption.
    - destruct (symbol <? written).
      + inversion H. destruct (le_lt_dec (length (nameless)) (symbol - length (letters m))) as [Hle|Hlt].
        * rewrite nth_overflow by assumption. apply inhabited. assumption.
        * pose proof (nth_In nameless 0 Hlt) as Hin. apply filter_In in Hin. destruct Hin as [Hin _].
          apply in_seq in Hin. lia.
      + destruct (symbol =? mask_symbol); inversion H. subst. apply inhabited. assumption.
  Qed.
End Vocabulary.
