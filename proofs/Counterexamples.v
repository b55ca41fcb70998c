(** Variants that do not work, each as a proved counterexample. *)

From Coq Require Import ZArith Lia List Bool Arith.
From Unmask Require Import Numbers Flags Sums Exponential ExponentialTables Layer Forms Attention Match.
From Unmask Require Import GadgetEq GadgetHide GadgetFocus GadgetLogic GadgetBuffers LayerRows.
Import ListNotations.
Open Scope Z_scope.
Local Arguments Z.mul : simpl never.

Section Counterexamples.
  Variable p : Z.
  Hypothesis p_positive : 1 <= p.

  (** One HIDE. Columns: 0 always, 1 the flag, 2 what scores B. The only row is flagged and scores B; hidden once, its
      score is B - B = 0, and it is read all the same. *)
  Definition loud : list column_pair := [([(2%nat, bound p)], [(2%nat, one p)])].
  Definition loud_row : vector := [one p; one p; one p].

  Theorem one_hide_is_not_enough : forall (e : exponential p) value,
    attend p e (head_of 3 (loud ++ [hide_column p 0 1]) value) loud_row [loud_row]
    = Some (times p loud_row (wv (head_of 3 loud value)))
    /\ attend p e (head_of 3 loud value) loud_row (filter (fun row => at_column row 1 =? 0) [loud_row]) = None.
  Proof.
    intros e value. pose proof (one_at_least_2 p p_positive). pose proof (bound_positive p p_positive).
    pose proof (one_representable p p_positive) as H1. pose proof (bound_representable p p_positive) as HB.
    split; [|unfold filter, loud_row, at_column; simpl nth; destruct (Z.eqb_spec (one p) 0); [lia | reflexivity]].
    unfold loud_row. rewrite attend_head_of.
    - rewrite attend_by_one_row; [reflexivity | assumption|].
      unfold weight_of. rewrite score_app. unfold sum_from. cbn [map fold_left].
      rewrite hide_term by (try assumption; simpl; try reflexivity; right; reflexivity).
      unfold score, loud, sum, sum_from. cbn [map fold_left column_term fst snd]. unfold column_term. cbn [fst snd].
      rewrite !apply_single by assumption. unfold at_column. cbn [nth].
      rewrite one_multiply, (one_multiply p (one p)), multiply_one by assumption.
      destruct (Z.eqb_spec (one p) 0); [lia|]. rewrite add_0_l by assumption.
      replace (add p (bound p) (- bound p)) with 0 by (unfold add, clip; lia). apply exp_zero.
    - assumption.
    - repeat constructor; lia.
    - reflexivity.
    - intros row [<-|[]]. reflexivity.
  Qed.

  (** Without BOOST, a query whose keys are all hidden attends to nothing. *)
  Theorem hiding_every_row_is_an_error : forall (e : exponential p) value,
    attend p e (head_of 3 (loud ++ hide_columns p 0 1) value) loud_row [loud_row] = None.
  Proof.
    intros e value. pose proof (one_at_least_2 p p_positive).
    rewrite hide_makes_invisible; try assumption; try lia; try reflexivity.
    - unfold filter, loud_row, at_column. simpl nth. destruct (Z.eqb_spec (one p) 0); [lia|]. reflexivity.
    - repeat constructor; lia.
    - intros row [<-|[]]. split; [reflexivity | right; reflexivity].
  Qed.

  (** One buffer: two heads on the same column, one that brings the new contents, one that takes the old ones away.
      Old B, new -B: the heads give -B - B = -B, and + B makes it 0. Columns: 0 always, 1 the own code, 2 the address,
      3 the contents. Row 0 points to row 1. *)
  Definition one_buffer_layer : layer := {|
    heads := [head_of 4 (eq_columns p 0 [2%nat] [1%nat]) (copy_block 3 3 1 (one p));
              head_of 4 (eq_columns p 0 [1%nat] [1%nat]) (copy_block 3 3 1 (- one p))];
    feed_forward := no_mlp 4 |}.
  Definition reader : vector := [one p; - one p; one p; bound p].
  Definition writer : vector := [one p; one p; one p; - bound p].

  Ltac small_pointer :=
    pose proof (one_at_least_2 p p_positive);
    split; [repeat constructor; lia|]; split; [repeat split; repeat constructor; simpl; tauto|];
    split; [intros row [<-|[<-|[]]]; repeat split; repeat constructor; simpl; tauto|]; split; [simpl; lia|];
    intros [|[|j]] Hj; simpl in Hj; try lia; unfold agree, at_column; simpl;
    destruct (Z.eqb_spec (one p) (- one p)); destruct (Z.eqb_spec (- one p) (one p)); try lia;
    rewrite ?Z.eqb_refl; reflexivity.

  Lemma reader_points_to_writer : points_to p 4 0 [2%nat] [1%nat] reader [reader; writer] 1.
  Proof. small_pointer. Qed.

  Lemma reader_points_to_itself : points_to p 4 0 [1%nat] [1%nat] reader [reader; writer] 0.
  Proof. small_pointer. Qed.

  Theorem one_buffer_is_not_enough : forall (e : exponential p),
    exists result, layer_row p e one_buffer_layer [reader; writer] reader = Some result
                   /\ at_column result 3 = 0 /\ at_column writer 3 = - bound p.
  Proof.
    intro e. pose proof (bound_positive p p_positive). pose proof (bound_representable p p_positive) as HB.
    eexists. split; [|split; [|reflexivity]].
    - apply layer_row_of_heads. constructor; [apply lookup_copies; [assumption | apply reader_points_to_writer]|].
      constructor; [apply lookup_copies; [assumption | apply reader_points_to_itself] | constructor].
    - change (feed_forward one_buffer_layer) with (no_mlp 4). set (results := [_; _]).
      assert (Hlen : forall r, In r results -> length r = length reader) by (intros r [<-|[<-|[]]]; reflexivity).
      rewrite at_plus; [| rewrite attended_length by assumption; reflexivity | rewrite attended_length by assumption;
        simpl; lia].
      rewrite no_mlp_adds_nothing by (try (rewrite attended_length by assumption); try assumption; simpl; lia).
      rewrite at_attended by (try assumption; simpl; lia). unfold results. cbn [map nth].
      rewrite !at_copy_block by (try assumption; simpl; lia). simpl. unfold reader, writer, at_column. simpl.
      rewrite multiply_one, multiply_minus_one by (try apply opposite_representable; assumption).
      unfold sum, sum_from, add, clip. simpl. lia.
  Qed.

  (** One positive literal too many: the textbook AND, ReLU (Σ x_k - (k - 1)), is right below 2^p literals and wrong
      with 2^p of them, because their sum clips at B < 2^p. *)
  Definition textbook_and (literals : nat) : unit_pair :=
    (map (fun k => (k, one p)) (seq 0 literals), - ((Z.of_nat literals - 1) * one p)).

  Lemma clipped_count : forall (x : vector) literals s, (forall k, In k literals -> is_flag p (at_column x k)) ->
    0 <= s <= bound p ->
    sum_from p s (map (fun term => multiply p (at_column x (fst term)) (snd term)) (map (fun k => (k, one p)) literals))
    = Z.min (bound p) (s + one p * Z.of_nat (length (filter (fun k => at_column x k =? one p) literals))).
  Proof.
    intros x literals. pose proof (one_at_least_2 p p_positive). pose proof (bound_positive p p_positive).
    induction literals as [|k literals IH]; intros s Hf Hs; [simpl; lia|].
    unfold sum_from in *. simpl. destruct (Hf k (or_introl eq_refl)) as [E|E]; rewrite E.
    - rewrite multiply_0_l, add_0_r by (try assumption; unfold representable; lia).
      destruct (Z.eqb_spec 0 (one p)); [lia|]. apply IH; [intros; apply Hf; right; assumption | assumption].
    - rewrite multiply_one by (try apply one_representable; assumption). rewrite Z.eqb_refl.
      rewrite IH; [| intros; apply Hf; right; assumption | unfold add, clip; lia].
      simpl length. rewrite Nat2Z.inj_succ. unfold add, clip. nia.
  Qed.

  Theorem textbook_and_below : forall x literals, Z.of_nat literals < one p ->
    (forall k, (k < literals)%nat -> is_flag p (at_column x k)) ->
    unit_value p (textbook_and literals) x
    = if forallb (fun k => at_column x k =? one p) (seq 0 literals) then one p else 0.
  Proof.
    intros x literals Hfew Hflags. unfold unit_value, textbook_and, apply_form, sum. simpl fst. simpl snd.
    pose proof (one_at_least_2 p p_positive). pose proof (bound_is_square p p_positive).
    rewrite clipped_count; [| intros k Hk; apply in_seq in Hk; apply Hflags; lia | lia].
    assert (Hall : forall l : list nat, if forallb (fun k => at_column x k =? one p) l
                   then length (filter (fun k => at_column x k =? one p) l) = length l
                   else (length (filter (fun k => Z.eqb (at_column x k) (one p)) l) < length l)%nat).
    { induction l as [|k l IH]; [reflexivity|]. simpl.
      destruct (at_column x k =? one p); destruct (forallb _ l); simpl in *; lia. }
    specialize (Hall (seq 0 literals)). rewrite seq_length in Hall.
    set (n := length (filter _ _)) in *. clearbody n.
    unfold relu, add, clip. destruct (forallb _ _).
    - subst n. nia.
    - assert (one p * Z.of_nat n <= one p * (Z.of_nat literals - 1)) by nia. nia.
  Qed.

  Theorem textbook_and_fails : forall x, (forall k, (k < Z.to_nat (one p))%nat -> at_column x k = one p) ->
    unit_value p (textbook_and (Z.to_nat (one p))) x = one p - 1.
  Proof.
    intros x Hall. unfold unit_value, textbook_and, apply_form, sum. simpl fst. simpl snd.
    pose proof (one_at_least_2 p p_positive). pose proof (bound_is_square p p_positive).
    rewrite clipped_count; [| intros k Hk; apply in_seq in Hk; right; apply Hall; lia | nia].
    assert (Hf : filter (fun k => at_column x k =? one p) (seq 0 (Z.to_nat (one p))) = seq 0 (Z.to_nat (one p))).
    { assert (Hin : forall k, In k (seq 0 (Z.to_nat (one p))) -> at_column x k = one p).
      { intros k Hk. apply in_seq in Hk. apply Hall. lia. }
      induction (seq 0 (Z.to_nat (one p))) as [|k l IH]; [reflexivity|]. simpl.
      rewrite (Hin k (or_introl eq_refl)), Z.eqb_refl, IH by (intros; apply Hin; right; assumption). reflexivity. }
    rewrite Hf, seq_length, Z2Nat.id by lia. unfold relu, add, clip. nia.
  Qed.

  (** And in AND = ReLU (x - Σ y_k), which has no bias, a second positive literal: one of the two is enough. *)
  Definition two_positive_literals : unit_pair := ([(0%nat, one p); (1%nat, one p)], 0).

  Theorem two_positive_literals_fail : unit_value p two_positive_literals [one p; 0] = one p
                                       /\ unit_value p two_positive_literals [0; one p] = one p.
  Proof.
    assert (value : forall x y, unit_value p two_positive_literals [x; y]
              = relu (add p (add p (add p 0 (multiply p x (one p))) (multiply p y (one p))) 0)) by (intros; reflexivity).
    pose proof (one_representable p p_positive) as H1. pose proof (zero_representable p p_positive) as H0.
    pose proof (one_at_least_2 p p_positive). rewrite !value, multiply_0_l, multiply_one by assumption.
    rewrite (add_0_l p 0), (add_0_l p (one p)), !(add_0_r p (one p)) by assumption. unfold relu. lia.
  Qed.
End Counterexamples.

(** FOCUS with two copies at p = 1: a key with another code keeps the exponential 1/2, and is read. Columns: 0 always,
    1 the code, 2 what scores B. *)
Theorem two_copies_of_focus_fail_at_p_1 :
  let own := [one 1; one 1; one 1] in
  let row := [one 1; - one 1; one 1] in
  let focused := loud 1 ++ focus_columns 1 2 0 [1%nat] [1%nat] in
  let value := fun k : nat => [(k, one 1)] in
  score 1 focused own row = -1 /\ exponential_1 (-1) = 1
  /\ attend 1 exponential_1 (head_of 3 focused value) own [row] = Some row
  /\ attend 1 exponential_1 (head_of 3 (loud 1) value) own (filter (agree [1%nat] [1%nat] own) [row]) = None.
Proof. repeat split; vm_compute; reflexivity. Qed.
