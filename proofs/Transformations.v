(** Every automaton has a monoid that follows it: the maps of its states to themselves, a letter being the map that it
    moves them by. So what is proved of every finite monoid holds of every regular language.

    A map f of the states 0 … states - 1 is the list of its values; maps are numbered, the identity first. *)

From Coq Require Import List Arith Lia Bool.
From Unmask Require Import Monoid Automaton.
Import ListNotations.

Section Maps.
  Variable states : nat.

  Definition is_map (f : list nat) : Prop := length f = states /\ Forall (fun q => q < states) f.
  Definition identity : list nat := seq 0 states.
  Definition image (f : list nat) (q : nat) : nat := nth q f 0.
  Definition followed_by (f g : list nat) : list nat := map (image g) f.

  (** All lists of a length with entries below [states]. *)
  Fixpoint lists (length : nat) : list (list nat) :=
    match length with
    | 0 => [[]]
    | S length => flat_map (fun q => map (cons q) (lists length)) (seq 0 states)
    end.

  Definition same_map : forall f g : list nat, {f = g} + {f <> g} := list_eq_dec Nat.eq_dec.
  Definition maps : list (list nat) := identity :: nodup same_map (remove same_map identity (lists states)).

  Fixpoint number_in (l : list (list nat)) (f : list nat) : nat :=
    match l with [] => 0 | g :: rest => if same_map g f then 0 else S (number_in rest f) end.
  Definition number (f : list nat) : nat := number_in maps f.
  Definition map_of (x : nat) : list nat := nth x maps [].

  Lemma in_lists : forall n f, In f (lists n) <-> length f = n /\ Forall (fun q => q < states) f.
  Proof.
    induction n as [|n IH]; intro f; simpl.
    - split.
      + intros [<-|[]]. split; [reflexivity | constructor].
      + intros [H _]. left. destruct f; [reflexivity | discriminate].
    - rewrite in_flat_map. split.
      + intros [q [Hq Hf]]. apply in_map_iff in Hf. destruct Hf as [g [<- Hg]]. apply IH in Hg. apply in_seq in Hq.
        destruct Hg as [Hl Hg]. split; [simpl; lia | constructor; [lia | assumption]].
      + intros [Hl Hf]. destruct f as [|q f]; [discriminate|]. inversion Hf; subst. exists q.
        split; [apply in_seq; lia|]. apply in_map, IH. split; [simpl in Hl; lia | assumption].
  Qed.

  Lemma identity_is_map : is_map identity.
  Proof.
    split; [apply seq_length|]. apply Forall_forall. intros q Hq. apply in_seq in Hq. lia.
  Qed.

  Lemma in_maps : forall f, In f maps <-> is_map f.
  Proof.
    intro f. unfold maps. cbn [In]. rewrite nodup_In. split.
    - intros [<-|H]; [apply identity_is_map|]. apply in_remove in H. apply in_lists. tauto.
    - intro H. destruct (same_map f identity) as [->|Hne]; [left; reflexivity | right].
      apply in_in_remove; [assumption | apply in_lists; assumption].
  Qed.

  Lemma maps_differ : NoDup maps.
  Proof.
    constructor; [|apply NoDup_nodup]. rewrite nodup_In. apply remove_In.
  Qed.

  Lemma number_in_found : forall l f, In f l -> number_in l f < length l /\ nth (number_in l f) l [] = f.
  Proof.
    induction l as [|g l IH]; intros f H; [destruct H|]. simpl. destruct (same_map g f) as [->|Hne].
    - split; [lia | reflexivity].
    - destruct H as [H|H]; [contradiction|]. destruct (IH f H). split; [lia | assumption].
  Qed.

  Lemma number_below : forall f, is_map f -> number f < length maps.
  Proof. intros f H. apply number_in_found, in_maps. assumption. Qed.

  Lemma map_of_number : forall f, is_map f -> map_of (number f) = f.
  Proof. intros f H. apply number_in_found, in_maps. assumption. Qed.

  Lemma map_of_is_map : forall x, x < length maps -> is_map (map_of x).
  Proof. intros x H. apply in_maps, nth_In. assumption. Qed.

  Lemma number_of_map : forall x, x < length maps -> number (map_of x) = x.
  Proof.
    intros x H. pose proof (map_of_is_map x H) as Hm. apply (proj1 (NoDup_nth maps []) maps_differ).
    - apply number_below. assumption.
    - assumption.
    - apply (map_of_number _ Hm).
  Qed.

  Lemma image_below : forall f q, is_map f -> q < states -> image f q < states.
  Proof.
    intros f q [Hl Hf] Hq. rewrite Forall_forall in Hf. apply Hf, nth_In. lia.
  Qed.

  Lemma image_followed_by : forall f g q, q < length f -> image (followed_by f g) q = image g (image f q).
  Proof.
    intros f g q Hq. unfold followed_by. unfold image at 1.
    rewrite (nth_indep _ 0 (image g 0)) by (rewrite map_length; assumption). apply map_nth.
  Qed.

  Lemma followed_by_is_map : forall f g, is_map f -> is_map g -> is_map (followed_by f g).
  Proof.
    intros f g [Hl Hf] Hg. split; [unfold followed_by; rewrite map_length; assumption|].
    apply Forall_map. eapply Forall_impl; [|exact Hf]. intros q Hq. apply image_below; assumption.
  Qed.

  Lemma followed_by_associative : forall f g h, is_map f -> is_map g ->
    followed_by (followed_by f g) h = followed_by f (followed_by g h).
  Proof.
    intros f g h [_ Hf] [Hl _]. unfold followed_by at 1 2 3. rewrite map_map. apply map_ext_in. intros q Hq.
    rewrite Forall_forall in Hf. symmetry. apply image_followed_by. rewrite Hl. apply Hf. assumption.
  Qed.

  Lemma identity_followed_by : forall f, is_map f -> followed_by identity f = f.
  Proof.
    intros f [Hl _]. unfold followed_by, identity. rewrite <- Hl. apply nth_ext with (d := 0) (d' := 0).
    - rewrite map_length. apply seq_length.
    - intros q Hq. rewrite map_length, seq_length in Hq.
      rewrite (nth_indep _ 0 (image f 0)) by (rewrite map_length, seq_length; assumption).
      rewrite map_nth, seq_nth by assumption. reflexivity.
  Qed.

  Lemma followed_by_identity : forall f, is_map f -> followed_by f identity = f.
  Proof.
    intros f [_ Hf]. unfold followed_by. rewrite <- (map_id f) at 2. apply map_ext_in. intros q Hq.
    rewrite Forall_forall in Hf. apply seq_nth. apply Hf. assumption.
  Qed.

  (** The monoid of all maps, for an automaton and a number of letters. *)
  Variables (a : automaton) (alphabet : nat).

  Definition moved_by (t : nat) : list nat := map (fun q => next_state a q t) (seq 0 states).

  Definition monoid_of_maps : monoid := {|
    size := length maps;
    product x y := number (followed_by (map_of x) (map_of y));
    letters := map (fun t => number (moved_by t)) (seq 0 alphabet);
    accepting x := is_final a (image (map_of x) (start a)) |}.

  (** Where the words of an element lead from the start. *)
  Definition ends : list nat := map (fun f => image f (start a)) maps.
End Maps.

(** States are numbered from 0, one row of the table for each, and every row leads to states. *)
Definition well_formed (a : automaton) : Prop :=
  start a < length (table a) /\ Forall (Forall (fun q => q < length (table a))) (table a).

(** Its monoid, if it reads the letters 0 … alphabet - 1. *)
Definition transformations (a : automaton) (alphabet : nat) : monoid := monoid_of_maps (length (table a)) a alphabet.
Definition ends_of (a : automaton) : list nat := ends (length (table a)) a.

Lemma next_state_below : forall a q t, well_formed a -> next_state a q t < length (table a).
Proof.
  intros a q t [Hstart Htable]. unfold next_state. rewrite Forall_forall in Htable.
  destruct (nth_in_or_default q (table a) []) as [Hq|Hq].
  - specialize (Htable _ Hq). rewrite Forall_forall in Htable.
    destruct (nth_in_or_default t (nth q (table a) []) 0) as [Ht|Ht]; [apply Htable; assumption | lia].
  - rewrite Hq. destruct t; simpl; lia.
Qed.

Lemma moved_by_is_map : forall a t, well_formed a -> is_map (length (table a)) (moved_by (length (table a)) a t).
Proof.
  intros a t H. split; [unfold moved_by; rewrite map_length; apply seq_length|].
  apply Forall_map, Forall_forall. intros q _. apply next_state_below. assumption.
Qed.

Theorem transformations_are_a_monoid : forall a alphabet, well_formed a -> lawful (transformations a alphabet).
Proof.
  intros a alphabet H. set (states := length (table a)).
  assert (Hmaps : forall x, x < size (transformations a alphabet) -> is_map states (map_of states x))
    by (intros; apply map_of_is_map; assumption).
  constructor.
  - simpl. lia.
  - intros x y Hx Hy. apply number_below, followed_by_is_map; apply Hmaps; assumption.
  - intros x Hx. cbn [product transformations monoid_of_maps]. fold states.
    change (map_of states 0) with (identity states). rewrite identity_followed_by by (apply Hmaps; assumption).
    apply number_of_map. assumption.
  - intros x Hx. cbn [product transformations monoid_of_maps]. fold states.
    change (map_of states 0) with (identity states). rewrite followed_by_identity by (apply Hmaps; assumption).
    apply number_of_map. assumption.
  - intros x y z Hx Hy Hz. cbn [product transformations monoid_of_maps]. fold states.
    rewrite !map_of_number by (apply followed_by_is_map; apply Hmaps; assumption). f_equal.
    apply (followed_by_associative states); apply Hmaps; assumption.
  - apply Forall_map, Forall_forall. intros t _. apply number_below, moved_by_is_map. assumption.
Qed.

Theorem transformations_follow : forall a alphabet, well_formed a ->
  follows (transformations a alphabet) a (ends_of a) = true.
Proof.
  intros a alphabet H. set (states := length (table a)). pose proof H as [Hstart _]. fold states in Hstart.
  assert (Hend : forall x, x < length (maps states) -> nth x (ends_of a) 0 = image (map_of states x) (start a)).
  { intros x Hx. unfold ends_of, ends. fold states. set (f := fun m => image m (start a)).
    rewrite (nth_indep _ 0 (f [])) by (rewrite map_length; assumption). apply map_nth. }
  unfold follows. apply andb_true_iff. split; [apply andb_true_iff; split|].
  - apply Nat.eqb_eq. rewrite Hend by (simpl; lia). apply seq_nth. assumption.
  - apply forallb_forall. intros x Hx. apply in_seq in Hx. apply forallb_forall. intros t Ht. apply in_seq in Ht.
    assert (Hx' : x < length (maps states)) by (apply Hx).
    assert (Ht' : t < alphabet) by (cbn in Ht; rewrite map_length, seq_length in Ht; lia).
    pose proof (map_of_is_map states x Hx') as Hm. pose proof (moved_by_is_map a t H) as Hmove. fold states in Hmove.
    assert (Hletter : letter (transformations a alphabet) t = number states (moved_by states a t)).
    { unfold letter. cbn [letters transformations monoid_of_maps]. fold states.
      set (f := fun t => number states (moved_by states a t)).
      rewrite (nth_indep _ 0 (f 0)) by (rewrite map_length, seq_length; assumption).
      rewrite map_nth, seq_nth by assumption. reflexivity. }
    apply Nat.eqb_eq. rewrite Hletter. cbn [product transformations monoid_of_maps]. fold states.
    rewrite map_of_number by assumption. rewrite Hend by (apply number_below, followed_by_is_map; assumption).
    rewrite map_of_number by (apply followed_by_is_map; assumption).
    destruct Hm as [Hl Hf] eqn:E. rewrite image_followed_by by (rewrite Hl; assumption). rewrite Hend by assumption.
    assert (Hq : image (map_of states x) (start a) < states) by (apply image_below; assumption).
    unfold moved_by, image at 1. set (q := image (map_of states x) (start a)) in *. set (f := fun q => next_state a q t).
    rewrite (nth_indep _ 0 (f 0)) by (rewrite map_length, seq_length; assumption).
    rewrite map_nth, seq_nth by assumption. reflexivity.
  - apply forallb_forall. intros x Hx. apply in_seq in Hx. rewrite Hend by (apply Hx). apply Bool.eqb_reflx.
Qed.

Lemma letters_of_transformations : forall a alphabet, length (letters (transformations a alphabet)) = alphabet.
Proof. intros. cbn. rewrite map_length. apply seq_length. Qed.
