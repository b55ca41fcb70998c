(** A finite monoid with a morphism and an accepting set: what recognises a regular language.

    Elements are 0 … size - 1, element 0 is the identity; the letter number t is the element [nth t letters]. *)

From Coq Require Import List Arith Lia Bool.
Import ListNotations.

Record monoid := { size : nat; product : nat -> nat -> nat; letters : list nat; accepting : nat -> bool }.

Record lawful (m : monoid) : Prop := {
  inhabited : 0 < size m;
  closed : forall a b, a < size m -> b < size m -> product m a b < size m;
  identity_left : forall a, a < size m -> product m 0 a = a;
  identity_right : forall a, a < size m -> product m a 0 = a;
  associative : forall a b c, a < size m -> b < size m -> c < size m ->
    product m (product m a b) c = product m a (product m b c);
  letters_are_elements : Forall (fun a => a < size m) (letters m)
}.

(** A word is a list of letter numbers; its element is the product of its letters from left to right. *)
Definition is_word (m : monoid) (word : list nat) : Prop := Forall (fun t => t < length (letters m)) word.
Definition letter (m : monoid) (t : nat) : nat := nth t (letters m) 0.
Definition element_of_word (m : monoid) (word : list nat) : nat :=
  fold_left (fun a t => product m a (letter m t)) word 0.

(** The laws of a given table can be computed. *)
Definition of_table (table : list (list nat)) (letters : list nat) (accepted : list nat) : monoid := {|
  size := length table;
  product a b := nth b (nth a table []) 0;
  letters := letters;
  accepting a := existsb (Nat.eqb a) accepted |}.

Definition laws_hold (m : monoid) : bool :=
  let elements := seq 0 (size m) in
  (0 <? size m)
  && forallb (fun a => (product m 0 a =? a) && (product m a 0 =? a)) elements
  && forallb (fun a => forallb (fun b => product m a b <? size m) elements) elements
  && forallb (fun a => forallb (fun b => forallb (fun c =>
       product m (product m a b) c =? product m a (product m b c)) elements) elements) elements
  && forallb (fun a => a <? size m) (letters m).

Lemma laws_hold_lawful : forall m, laws_hold m = true -> lawful m.
Proof.
  intros m H. unfold laws_hold in H. repeat (apply andb_true_iff in H; destruct H as [H ?]).
  apply Nat.ltb_lt in H. repeat match goal with E : forallb _ _ = true |- _ => rewrite forallb_forall in E end.
  assert (Hin : forall a, a < size m -> In a (seq 0 (size m))) by (intros; apply in_seq; lia).
  constructor.
  - assumption.
  - intros a b Ha Hb. apply Nat.ltb_lt.
    match goal with E : forall x, In x _ -> forallb (fun b => _ <? _) _ = true |- _ => specialize (E a (Hin a Ha));
      rewrite forallb_forall in E; apply E; auto end.
  - intros a Ha. match goal with E : forall x, In x _ -> (_ =? x) && _ = true |- _ => specialize (E a (Hin a Ha));
      apply andb_true_iff in E; apply Nat.eqb_eq; apply E end.
  - intros a Ha. match goal with E : forall x, In x _ -> (_ =? x) && _ = true |- _ => specialize (E a (Hin a Ha));
      apply andb_true_iff in E; apply Nat.eqb_eq; apply E end.
  - intros a b c Ha Hb Hc. apply Nat.eqb_eq.
    match goal with E : forall x, In x _ -> forallb (fun b => forallb _ _) _ = true |- _ =>
      specialize (E a (Hin a Ha)); rewrite forallb_forall in E; specialize (E b (Hin b Hb));
        rewrite forallb_forall in E; apply E; auto end.
  - apply Forall_forall. intros a Ha. apply Nat.ltb_lt. auto.
Qed.

(** Products of lists of elements, from the right: equal to those from the left, and compatible with concatenation. *)
Section Products.
  Variable m : monoid.
  Hypothesis laws : lawful m.

  Definition product_of (elements : list nat) : nat := fold_right (product m) 0 elements.
  Definition all_elements (elements : list nat) : Prop := Forall (fun a => a < size m) elements.

  Lemma product_of_closed : forall l, all_elements l -> product_of l < size m.
  Proof.
    intros l H. induction H as [|a l Ha Hl IH]; simpl; [apply inhabited; assumption | apply closed; assumption].
  Qed.

  Lemma product_of_app : forall l l', all_elements l -> all_elements l' ->
    product_of (l ++ l') = product m (product_of l) (product_of l').
  Proof.
    intros l l' H H'. induction H as [|a l Ha Hl IH]; simpl.
    - symmetry. apply identity_left; [assumption | apply product_of_closed; assumption].
    - rewrite IH. symmetry. apply associative; try assumption; apply product_of_closed; assumption.
  Qed.

  Lemma letter_is_element : forall t, letter m t < size m.
  Proof.
    intro t. unfold letter. destruct (le_lt_dec (length (letters m)) t).
    - rewrite nth_overflow by assumption. apply inhabited. assumption.
    - pose proof (letters_are_elements m laws) as H. rewrite Forall_forall in H. apply H, nth_In. assumption.
  Qed.

  Lemma letters_all_elements : forall word, all_elements (map (letter m) word).
  Proof.
    intro word. apply Forall_forall. intros a Ha. apply in_map_iff in Ha. destruct Ha as [t [<- _]].
    apply letter_is_element.
  Qed.

  Lemma element_of_word_is_product : forall word, element_of_word m word = product_of (map (letter m) word).
  Proof.
    assert (H : forall word a, a < size m ->
              fold_left (fun a t => product m a (letter m t)) word a = product m a (product_of (map (letter m) word))).
    { induction word as [|t word IH]; intros a Ha; simpl.
      - symmetry. apply identity_right; assumption.
      - rewrite IH by (apply closed; try assumption; apply letter_is_element).
        apply associative; try assumption; [apply letter_is_element | apply product_of_closed, letters_all_elements]. }
    intro word. unfold element_of_word. rewrite H by (apply inhabited; assumption).
    apply identity_left; [assumption | apply product_of_closed, letters_all_elements].
  Qed.
End Products.
