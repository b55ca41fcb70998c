(** The queue: slot j = 0 … N-2 stands at position N + j and multiplies the entries 2j and 2j + 1 of a queue of the N
    inputs, the last 2c of them foremost (c = N - 2^⌊log2 N⌋), and then the slots.

    So the root, in slot N - 2, is the product of the word in its own order, and the depth is ⌈log2 N⌉. *)

From Coq Require Import List Arith Lia Bool.
From Unmask Require Import Monoid.
Import ListNotations.

Definition slots (length : nat) : nat := Nat.max 1 (length - 1).
Definition steps (length : nat) : nat := Nat.max 1 (Nat.log2_up length).

(** c, the number of products before a power of two is left. *)
Definition surplus (length : nat) : nat := length - 2 ^ Nat.log2 length.

(** Which position is the left (side 0) or right (side 1) factor of a slot. *)
Definition factor (length side slot : nat) : nat :=
  let entry := 2 * slot + side in
  if entry <? length then (entry + length - 2 * surplus length) mod length else entry.

(** Every position has two children; an input is its own. *)
Definition child (length side position : nat) : nat :=
  if position <? length then position else factor length side (position - length).

Section Queue.
  Variables (m : monoid) (word : list nat).
  Hypothesis laws : lawful m.
  Let n : nat := length word.
  Hypothesis two_letters : 2 <= n.

  Lemma power_below : 2 ^ Nat.log2 n <= n < 2 * 2 ^ Nat.log2 n.
  Proof. pose proof (Nat.log2_spec n ltac:(lia)) as H. simpl in H. lia. Qed.

  (** The children of a slot come before it. *)
  Lemma child_before : forall side position, side <= 1 -> n <= position < 2 * n - 1 -> child n side position < position.
  Proof.
    intros side position Hside Hposition. unfold child, factor. pose proof power_below.
    destruct (Nat.ltb_spec position n); [lia|].
    destruct (Nat.ltb_spec (2 * (position - n) + side) n); [|lia].
    pose proof (Nat.mod_upper_bound (2 * (position - n) + side + n - 2 * surplus n) n ltac:(lia)). lia.
  Qed.

  (** The element of a position: of its letter, or of the product of its children. *)
  Fixpoint value_with (fuel position : nat) : nat :=
    match fuel with
    | 0 => 0
    | S fuel => if position <? n then letter m (nth position word 0)
                else product m (value_with fuel (child n 0 position)) (value_with fuel (child n 1 position))
    end.
  Definition value (position : nat) : nat := value_with (S position) position.

  Lemma value_fuel : forall fuel position, position < fuel -> position < 2 * n - 1 ->
    value_with fuel position = value position.
  Proof.
    assert (same : forall k fuel fuel' position, position < k -> position < fuel -> position < fuel' ->
      position < 2 * n - 1 ->
              value_with fuel position = value_with fuel' position).
    { induction k as [|k IH]; intros fuel fuel' position Hk Hf Hf' Hp; [lia|].
      destruct fuel as [|fuel]; [lia|]. destruct fuel' as [|fuel']; [lia|]. simpl.
      destruct (Nat.ltb_spec position n); [reflexivity|].
      pose proof (child_before 0 position ltac:(lia) ltac:(lia)).
      pose proof (child_before 1 position ltac:(lia) ltac:(lia)).
      rewrite (IH fuel fuel') by lia. rewrite (IH fuel fuel' (child n 1 position)) by lia. reflexivity. }
    intros. apply (same (S position)); lia.
  Qed.

  Lemma value_of_letter : forall position, position < n -> value position = letter m (nth position word 0).
  Proof.
    intros position H. unfold value. simpl. destruct (Nat.ltb_spec position n); [reflexivity | lia].
  Qed.

  Lemma value_of_slot : forall position, n <= position < 2 * n - 1 ->
    value position = product m (value (child n 0 position)) (value (child n 1 position)).
  Proof.
    intros position H. unfold value at 1. simpl. destruct (Nat.ltb_spec position n); [lia|].
    pose proof (child_before 0 position ltac:(lia) ltac:(lia)).
    pose proof (child_before 1 position ltac:(lia) ltac:(lia)).
    rewrite !value_fuel by lia. reflexivity.
  Qed.

  Lemma value_is_element : forall position, position < 2 * n - 1 -> value position < size m.
  Proof.
    intro position. induction position as [position IH] using (well_founded_induction lt_wf). intro H.
    destruct (le_lt_dec n position).
    - rewrite value_of_slot by lia.
      pose proof (child_before 0 position ltac:(lia) ltac:(lia)).
      pose proof (child_before 1 position ltac:(lia) ltac:(lia)).
      apply closed; [assumption | apply IH; lia | apply IH; lia].
    - rewrite value_of_letter by assumption. apply letter_is_element. assumption.
  Qed.

  (** The value of a queue entry: an input in rotated order, or a slot. *)
  Definition entry_value (entry : nat) : nat :=
    if entry <? n then value ((entry + n - 2 * surplus n) mod n) else value entry.

  Lemma entry_is_element : forall entry, entry < 2 * n - 1 -> entry_value entry < size m.
  Proof.
    intros entry H. unfold entry_value. destruct (Nat.ltb_spec entry n); apply value_is_element; [|assumption].
    pose proof (Nat.mod_upper_bound (entry + n - 2 * surplus n) n ltac:(lia)). lia.
  Qed.

  Lemma slot_multiplies_entries : forall slot, slot < n - 1 ->
    value (n + slot) = product m (entry_value (2 * slot)) (entry_value (2 * slot + 1)).
  Proof.
    intros slot H. rewrite value_of_slot by lia. unfold child, factor, entry_value.
    destruct (Nat.ltb_spec (n + slot) n); [lia|]. replace (n + slot - n) with slot by lia.
    rewrite Nat.add_0_r. destruct (2 * slot <? n), (2 * slot + 1 <? n); reflexivity.
  Qed.

  (** The product of entries in pairs is the product of the entries. *)
  Lemma product_in_pairs : forall count first, first + 2 * count <= 2 * n - 1 ->
    product_of m (map entry_value (seq first (2 * count)))
    = product_of m (map (fun i => product m (entry_value (first + 2 * i)) (entry_value (first + 2 * i + 1))) (seq 0
      count)).
  Proof.
    induction count as [|count IH]; intros first H; [reflexivity|].
    replace (2 * S count) with (S (S (2 * count))) by lia. simpl seq. simpl map. simpl product_of.
    rewrite IH by lia. rewrite <- seq_shift, map_map, Nat.add_0_r.
    replace (first + 1) with (S first) by lia.
    set (rest := product_of m _) at 1. set (rest' := product_of m _).
    assert (E : rest = rest').
    { unfold rest, rest'. f_equal. apply map_ext. intro i. f_equal; f_equal; lia. }
    rewrite <- E. symmetry. apply associative; try assumption; try (apply entry_is_element; lia).
    apply product_of_closed; [assumption|]. apply Forall_forall. intros a Ha. apply in_map_iff in Ha.
    destruct Ha as [i [<- Hi]]. apply in_seq in Hi. apply closed; [assumption | |]; apply entry_is_element; lia.
  Qed.

  (** Every level of the perfect tree has the product of the root. *)
  Lemma level_product : forall k, 2 * 2 ^ k <= 2 * n ->
    product_of m (map entry_value (seq (2 * n - 2 * 2 ^ k) (2 ^ k))) = value (2 * n - 2).
  Proof.
    induction k as [|k IH]; intro H.
    - simpl. unfold entry_value. replace (n + (n + 0) - 2) with (2 * n - 2) by lia.
      destruct (Nat.ltb_spec (2 * n - 2) n); [lia|]. apply identity_right; [assumption | apply value_is_element; lia].
    - rewrite Nat.pow_succ_r' in *. rewrite product_in_pairs by (pose proof (Nat.pow_nonzero 2 k); lia).
      rewrite <- IH by lia.
      assert (Hpos : 2 ^ k <> 0) by (apply Nat.pow_nonzero; lia).
      replace (seq (2 * n - 2 * 2 ^ k) (2 ^ k)) with (map (fun i => 2 * n - 2 * 2 ^ k + i) (seq 0 (2 ^ k))).
      + rewrite map_map. f_equal. apply map_ext_in. intros i Hi. apply in_seq in Hi.
        replace (entry_value (2 * n - 2 * 2 ^ k + i)) with (value (n + (n - 2 * 2 ^ k + i))).
        * rewrite slot_multiplies_entries by lia. f_equal; f_equal; lia.
        * unfold entry_value. destruct (Nat.ltb_spec (2 * n - 2 * 2 ^ k + i) n); [lia|]. f_equal. lia.
      + generalize (2 * n - 2 * 2 ^ k). clear. intro s. induction (2 ^ k) as [|c IH] using nat_ind; [reflexivity|].
        rewrite !seq_S, map_app, IH. reflexivity.
  Qed.

  Lemma seq_from : forall first count, seq first count = map (fun i => first + i) (seq 0 count).
  Proof.
    intros first count. induction count as [|c IH]; [reflexivity|]. rewrite !seq_S, map_app, IH. reflexivity.
  Qed.

  (** The first level is the word, with its last 2c letters multiplied in pairs. *)
  Lemma first_level : product_of m (map entry_value (seq (2 * surplus n) (2 ^ Nat.log2 n)))
                      = product_of m (map (letter m) word).
  Proof.
    pose proof power_below as H. set (c := surplus n). assert (Hc : c = n - 2 ^ Nat.log2 n) by reflexivity.
    replace (2 ^ Nat.log2 n) with ((n - 2 * c) + c) by lia. rewrite seq_app, map_app.
    replace (2 * c + (n - 2 * c)) with n by lia.
    assert (Hword : map (letter m) word = map value (seq 0 n)).
    { apply nth_ext with (d := 0) (d' := 0); [rewrite !map_length, seq_length; reflexivity|].
      intros i Hi. rewrite map_length in Hi. fold n in Hi.
      rewrite (nth_indep (map (letter m) word) 0 (letter m 0)) by (rewrite map_length; assumption). rewrite map_nth.
      rewrite (nth_indep (map value (seq 0 n)) 0 (value 0)) by (rewrite map_length, seq_length; assumption).
      rewrite map_nth, seq_nth by assumption.
      symmetry. apply value_of_letter. assumption. }
    rewrite Hword. replace (seq 0 n) with (seq 0 (n - 2 * c) ++ seq (n - 2 * c) (2 * c))
      by (rewrite <- seq_app; f_equal; lia).
    rewrite map_app.
    assert (entries : forall l, (forall e, In e l -> e < 2 * n - 1) -> all_elements m (map entry_value l)).
    { intros l Hl. apply Forall_forall. intros a Ha. apply in_map_iff in Ha. destruct Ha as [e [<- He]].
      apply entry_is_element. auto. }
    assert (values : forall l, (forall e, In e l -> e < 2 * n - 1) -> all_elements m (map value l)).
    { intros l Hl. apply Forall_forall. intros a Ha. apply in_map_iff in Ha. destruct Ha as [e [<- He]].
      apply value_is_element. auto. }
    rewrite !product_of_app by
      (try assumption; first [apply entries | apply values]; intros e He; apply in_seq in He; lia).
    f_equal.
    - f_equal. rewrite (seq_from (2 * c)), map_map. apply map_ext_in. intros i Hi. apply in_seq in Hi.
      unfold entry_value. destruct (Nat.ltb_spec (2 * c + i) n); [|lia]. f_equal. fold c.
      replace (2 * c + i + n - 2 * c) with (i + 1 * n) by lia. rewrite Nat.mod_add by lia. apply Nat.mod_small. lia.
    - transitivity (product_of m (map entry_value (seq 0 (2 * c)))).
      + rewrite product_in_pairs by lia. f_equal. rewrite (seq_from n), map_map. apply map_ext_in. intros i Hi.
        apply in_seq in Hi. unfold entry_value at 1. destruct (Nat.ltb_spec (n + i) n); [lia|].
        rewrite slot_multiplies_entries by lia. reflexivity.
      + f_equal. rewrite (seq_from (n - 2 * c)), map_map. apply map_ext_in. intros i Hi. apply in_seq in Hi.
        unfold entry_value. destruct (Nat.ltb_spec i n); [|lia]. f_equal. fold c.
        rewrite Nat.mod_small by lia. lia.
  Qed.

  Theorem root_is_the_product : value (2 * n - 2) = element_of_word m word.
  Proof.
    rewrite element_of_word_is_product by assumption. pose proof power_below.
    rewrite <- first_level, <- (level_product (Nat.log2 n)) by lia.
    f_equal. f_equal. f_equal. unfold surplus. lia.
  Qed.
End Queue.

(** Readiness: what is unwritten after some steps is within a distance of 2N that halves with each step. *)
Fixpoint distance (length step : nat) : nat :=
  match step with 0 => length | S step => (distance length step + 1) / 2 end.

Lemma distance_halves : forall length step, distance length step <= 2 * distance length (S step).
Proof.
  intros length step. cbn [distance]. pose proof (Nat.div_mod (distance length step + 1) 2 ltac:(lia)).
  pose proof (Nat.mod_upper_bound (distance length step + 1) 2 ltac:(lia)). lia.
Qed.

Lemma distance_after_log : forall length step k, distance length step <= 2 ^ k -> distance length (step + k) <= 1.
Proof.
  intros length step k. revert step. induction k as [|k IH]; intros step H.
  - rewrite Nat.add_0_r. simpl in H. assumption.
  - replace (step + S k) with (S step + k) by lia. apply IH. cbn [distance]. rewrite Nat.pow_succ_r' in H.
    apply Nat.lt_succ_r. apply Nat.div_lt_upper_bound; lia.
Qed.

Theorem all_written_after_log : forall length step, Nat.log2_up length <= step -> distance length step <= 1.
Proof.
  intros length step H. replace step with ((step - Nat.log2_up length) + Nat.log2_up length) by lia.
  apply distance_after_log. apply Nat.le_trans with length.
  - generalize (step - Nat.log2_up length). intro k. induction k as [|k IH]; [cbn [distance]; lia|]. cbn [distance].
    destruct length as [|length]; [|apply Nat.lt_succ_r, Nat.div_lt_upper_bound; lia].
    replace (distance 0 k) with 0 by lia. reflexivity.
  - destruct (le_lt_dec length 1); [|apply Nat.log2_up_spec; assumption].
    pose proof (Nat.pow_nonzero 2 (Nat.log2_up length)). lia.
Qed.

(** The children of a slot that must be written after the next step have been written after this one. *)
Lemma children_are_written : forall length step side position, side <= 1 -> length <= position ->
  position + distance length (S step) < 2 * length ->
  child length side position < length \/ child length side position + distance length step < 2 * length.
Proof.
  intros length step side position Hside Hslot H. pose proof (distance_halves length step).
  unfold child, factor. destruct (Nat.ltb_spec position length); [left; assumption|].
  destruct (Nat.ltb_spec (2 * (position - length) + side) length).
  - left. apply Nat.mod_upper_bound. lia.
  - right. lia.
Qed.
