(** Addresses: the bits of a position as ±1, the highest first. Different positions have different codes, so that an
    EQ head finds exactly the row whose number it asks for. *)

From Coq Require Import ZArith Lia List Bool Arith.
From Unmask Require Import Numbers Exponential Layer Forms Match GadgetEq.
Import ListNotations.
Open Scope Z_scope.

(** How many bits the codes 0 … count - 1 take; at least 1. *)
Definition bits_for (count : nat) : nat := S (Nat.log2 (count - 1)).

Definition signed_bit (p : Z) (bits number i : nat) : Z :=
  if Nat.testbit number (bits - 1 - i) then one p else - one p.

Lemma codes_suffice : forall count, (count <= 2 ^ bits_for count)%nat.
Proof.
  intro count. unfold bits_for. destruct (Nat.eq_dec (count - 1) 0) as [E|E].
  - rewrite E. simpl. lia.
  - pose proof (Nat.log2_spec (count - 1) ltac:(lia)). lia.
Qed.

Lemma same_bits : forall bits a b, (a < 2 ^ bits)%nat -> (b < 2 ^ bits)%nat ->
  (forall i, (i < bits)%nat -> Nat.testbit a (bits - 1 - i) = Nat.testbit b (bits - 1 - i)) -> a = b.
Proof.
  intros bits a b Ha Hb H. apply Nat.bits_inj. intro k. destruct (le_lt_dec bits k) as [Hk|Hk].
  - assert (high : forall x, (x < 2 ^ bits)%nat -> Nat.testbit x k = false).
    { intros x Hx. rewrite Nat.testbit_eqb, Nat.div_small; [reflexivity|].
      apply Nat.lt_le_trans with (2 ^ bits)%nat; [assumption | apply Nat.pow_le_mono_r; lia]. }
    rewrite !high by assumption. reflexivity.
  - specialize (H (bits - 1 - k)%nat ltac:(lia)). replace (bits - 1 - (bits - 1 - k))%nat with k in H by lia.
    assumption.
Qed.

Lemma combine_seq : forall n a b, combine (seq a n) (seq b n) = map (fun i => ((a + i)%nat, (b + i)%nat)) (seq 0 n).
Proof.
  induction n as [|n IH]; intros a b; [reflexivity|]. simpl. rewrite IH, !Nat.add_0_r. f_equal.
  rewrite <- seq_shift, map_map. apply map_ext. intro i. f_equal; lia.
Qed.

Section Codes.
  Variable p : Z.
  Hypothesis p_positive : 1 <= p.

  (** The code of a number stands in the columns from [first] on. *)
  Definition holds_code (row : vector) (bits first number : nat) : Prop :=
    forall i, (i < bits)%nat -> at_column row (first + i) = signed_bit p bits number i.

  Lemma holds_code_is_code : forall row bits first number, holds_code row bits first number ->
    is_code p row (seq first bits).
  Proof.
    intros row bits first number H. apply Forall_forall. intros k Hk. apply in_seq in Hk.
    replace k with (first + (k - first))%nat by lia. rewrite H by lia. unfold signed_bit.
    destruct (Nat.testbit _ _); tauto.
  Qed.

  Lemma codes_agree : forall bits own row address key a b,
    (a < 2 ^ bits)%nat -> (b < 2 ^ bits)%nat -> holds_code own bits address a -> holds_code row bits key b ->
    agree (seq address bits) (seq key bits) own row = Nat.eqb b a.
  Proof.
    intros bits own row address key a b Ha Hb Hown Hrow. unfold agree. rewrite combine_seq.
    pose proof (one_at_least_2 p p_positive).
    destruct (Nat.eqb_spec b a) as [->|Hne].
    - apply forallb_forall. intros pair Hpair. apply in_map_iff in Hpair. destruct Hpair as [i [<- Hi]].
      apply in_seq in Hi. simpl. rewrite Hown, Hrow by lia. apply Z.eqb_refl.
    - destruct (forallb _ _) eqn:E; [|reflexivity]. exfalso. apply Hne. symmetry.
      apply (same_bits bits); try assumption.
      intros i Hi. rewrite forallb_forall in E. specialize (E ((address + i)%nat, (key + i)%nat)). simpl in E.
      rewrite Hown, Hrow in E by lia.
      assert (Heq : signed_bit p bits a i = signed_bit p bits b i).
      { apply Z.eqb_eq, E. apply in_map_iff. exists i. split; [reflexivity | apply in_seq; lia]. }
      unfold signed_bit in Heq. destruct (Nat.testbit a _), (Nat.testbit b _); try reflexivity; lia.
  Qed.

  (** Rows that hold their own number, and a row that holds the number of one of them as an address. *)
  Theorem address_points_to : forall width always bits address key (own : vector) (rows : list vector) target,
    (always < width)%nat -> (address + bits <= width)%nat -> (key + bits <= width)%nat ->
    (length rows <= 2 ^ bits)%nat -> (target < length rows)%nat ->
    (forall j, (j < length rows)%nat ->
       length (nth j rows []) = width /\ at_column (nth j rows []) always = one p
       /\ holds_code (nth j rows []) bits key j) ->
    length own = width -> at_column own always = one p -> holds_code own bits address target ->
    points_to p width always (seq address bits) (seq key bits) own rows target.
  Proof.
    intros width always bits address key own rows target Halways Haddress Hkey Hbits Htarget Hrows Hlength Hone Hown.
    split; [split; [assumption | split; apply Forall_forall; intros k Hk; apply in_seq in Hk; lia]|].
    split; [split; [assumption | split; [assumption | apply holds_code_is_code with target; assumption]]|].
    split.
    - intros row Hrow. apply In_nth with (d := []) in Hrow. destruct Hrow as [j [Hj <-]].
      destruct (Hrows j Hj) as [H1 [H2 H3]]. split; [assumption | split; [assumption|]].
      apply holds_code_is_code with j. assumption.
    - split; [assumption|]. intros j Hj. destruct (Hrows j Hj) as [_ [_ Hj3]]. 
      apply codes_agree; try assumption; apply Nat.lt_le_trans with (length rows); assumption.
  Qed.
End Codes.
