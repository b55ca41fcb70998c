(** The planner: a masked slot is chosen as soon as no row that one of its children names is masked.

    Registers: one, masked, take (2), here (bits), then per child: address (bits), masked of the child.
    One layer: a LOOKUP per child brings its mask bit; take = masked ∧ ¬(masked of child 0) ∧ …
    Logits: keep B·one - B·take - B·take, take -B·one + B·take + B·take. *)

From Coq Require Import ZArith Lia List Bool Arith Sorting.Sorted.
From Unmask Require Import Numbers Flags Sums Exponential Layer Forms LayerRows Match GadgetEq GadgetLogic.
From Unmask Require Import Diffusion Codes Programs.
Import ListNotations.
Open Scope Z_scope.

Section Planner.
  Variables (p : Z) (symbols mask rows : nat) (children : list (nat -> nat)).

  Definition address_bits : nat := bits_for rows.
  Definition one_column : nat := 0.
  Definition masked_column : nat := 1.
  Definition take_column : nat := 2.
  Definition here_column : nat := 4.
  Definition address_column (t : nat) : nat := (4 + address_bits + t * (address_bits + 1))%nat.
  Definition fetched_column (t : nat) : nat := (address_column t + address_bits)%nat.
  Definition planner_width : nat := match children with [] => 4%nat | _ => address_column (length children) end.

  Definition planner_embedding (symbol : nat) : form := if Nat.eqb symbol mask then [(masked_column, one p)] else [].

  Definition planner_position (i c : nat) : Z :=
    if (c =? one_column)%nat then one p
    else if (c <? here_column)%nat then 0
    else if (c <? here_column + address_bits)%nat then signed_bit p address_bits i (c - here_column)
    else let t := ((c - address_column 0) / (address_bits + 1))%nat in
         let bit := ((c - address_column 0) mod (address_bits + 1))%nat in
         if (bit <? address_bits)%nat then signed_bit p address_bits (nth t children (fun i => i) i) bit else 0.

  Definition fetch_mask (t : nat) : head :=
    head_of planner_width (eq_columns p one_column (seq (address_column t) address_bits) (seq here_column address_bits))
            (fun c => if Nat.eqb c (fetched_column t) then [(masked_column, one p)] else []).

  Definition fetched_columns : list nat := map fetched_column (seq 0 (length children)).

  Definition planner_layer : layer := {|
    heads := map fetch_mask (seq 0 (length children));
    feed_forward := mlp_of planner_width [and_unit p [] masked_column fetched_columns]
      (fun c => if ((c =? take_column) || (c =? take_column + 1))%nat then ([(0%nat, one p)], 0) else ([], 0)) |}.

  Definition planner_output (decision : nat) : form :=
    let sign := if Nat.eqb decision 1 then 1 else -1 in
    [(one_column, - sign * bound p); (take_column, sign * bound p); ((take_column + 1)%nat, sign * bound p)].

  Definition readiness_planner : transformer :=
    transformer_of planner_width symbols rows 2 planner_embedding planner_position [planner_layer] planner_output.

  (** What it decides. *)
  Hypothesis p_positive : 1 <= p.
  Variable e : exponential p.
  Variable tokens : list nat.
  Hypothesis length_tokens : length tokens = rows.
  Hypothesis known_tokens : forall i, (i < rows)%nat -> (nth i tokens 0 < symbols)%nat.
  Hypothesis children_are_rows : forall i child, (i < rows)%nat -> In child children -> (child i < rows)%nat.

  Definition is_masked (i : nat) : bool := Nat.eqb (nth i tokens 0%nat) mask.

  Definition ready (i : nat) : bool := is_masked i && forallb (fun child => negb (is_masked (child i))) children.

  Let h := embedded p readiness_planner tokens.

  Lemma width_at_least_4 : (4 <= planner_width)%nat.
  Proof. unfold planner_width, address_column. destruct children; lia. Qed.

  Lemma child_columns : forall t, (t < length children)%nat ->
    (4 + address_bits <= address_column t)%nat /\ (fetched_column t < planner_width)%nat.
  Proof.
    intros t Ht. unfold planner_width, fetched_column, address_column.
    destruct children as [|c cs]; [simpl in Ht; lia|]. set (k := length (c :: cs)) in *. nia.
  Qed.

  Lemma one_or_zero : representable p (one p) /\ representable p 0 /\ representable p (- one p).
  Proof.
    split; [|split]; [apply one_representable | apply zero_representable | apply opposite_representable,
      one_representable];
      assumption.
  Qed.

  Lemma signed_bit_representable : forall bits number i, representable p (signed_bit p bits number i).
  Proof. intros. pose proof one_or_zero. unfold signed_bit. destruct (Nat.testbit _ _); tauto. Qed.

  Lemma position_representable : forall i c, representable p (planner_position i c).
  Proof.
    intros i c. pose proof one_or_zero. unfold planner_position.
    destruct (c =? one_column)%nat; [tauto|]. destruct (c <? here_column)%nat; [tauto|].
    destruct (c <? here_column + address_bits)%nat; [apply signed_bit_representable|].
    destruct (_ <? address_bits)%nat; [apply signed_bit_representable | tauto].
  Qed.

  (** Rows before the layer: the mask bit comes from the symbol, everything else from the position. *)
  Lemma at_h : forall i c, (i < rows)%nat -> (c < planner_width)%nat ->
    at_column (nth i h []) c = if Nat.eqb c masked_column then flag p (is_masked i) else planner_position i c.
  Proof.
    intros i c Hi Hc. unfold h, readiness_planner. rewrite at_embedded by assumption.
    unfold planner_embedding, is_masked. pose proof one_or_zero as [H1 [H0 _]].
    destruct (Nat.eqb_spec c masked_column) as [->|Hne].
    - change (planner_position i masked_column) with 0. destruct (Nat.eqb _ mask); simpl; apply add_0_r; assumption.
    - replace (coefficient _ c) with 0.
      + apply add_0_l, position_representable.
      + destruct (Nat.eqb _ mask); [|reflexivity]. simpl. unfold masked_column in Hne.
        destruct c as [|[|c]]; [reflexivity | contradiction | reflexivity].
  Qed.

  Lemma h_length : length h = rows.
  Proof. apply embedded_length. assumption. Qed.

  Lemma h_row_length : forall i, (i < rows)%nat -> length (nth i h []) = planner_width.
  Proof. intros. apply embedded_row_length; assumption. Qed.

  Lemma h_holds_own_code : forall i t, (i < rows)%nat -> (t < length children)%nat ->
    holds_code p (nth i h []) address_bits here_column i.
  Proof.
    intros i t Hi Ht r Hr. pose proof (child_columns t Ht). unfold fetched_column in *. unfold here_column in *.
    rewrite at_h by lia. unfold masked_column. destruct (Nat.eqb_spec (4 + r) 1); [lia|].
    unfold planner_position, one_column, here_column.
    destruct (Nat.eqb_spec (4 + r) 0); [lia|]. destruct (Nat.ltb_spec (4 + r) 4); [lia|].
    destruct (Nat.ltb_spec (4 + r) (4 + address_bits)); [|lia]. f_equal. lia.
  Qed.

  Lemma h_holds_address : forall i t, (i < rows)%nat -> (t < length children)%nat ->
    holds_code p (nth i h []) address_bits (address_column t) (nth t children (fun i => i) i).
  Proof.
    intros i t Hi Ht r Hr. pose proof (child_columns t Ht) as Hc. unfold fetched_column in Hc.
    rewrite at_h by lia. unfold masked_column. destruct (Nat.eqb_spec (address_column t + r) 1); [lia|].
    unfold planner_position, one_column, here_column.
    destruct (Nat.eqb_spec (address_column t + r) 0); [lia|]. destruct (Nat.ltb_spec (address_column t + r) 4); [lia|].
    destruct (Nat.ltb_spec (address_column t + r) (4 + address_bits)); [lia|].
    replace (address_column t + r - address_column 0)%nat with (r + t * (address_bits + 1))%nat
      by (unfold address_column; lia).
    rewrite Nat.div_add, Nat.mod_add, Nat.div_small, Nat.mod_small by lia.
    destruct (Nat.ltb_spec r address_bits); [reflexivity | lia].
  Qed.

  Lemma h_fetched_is_0 : forall i t, (i < rows)%nat -> (t < length children)%nat ->
    at_column (nth i h []) (fetched_column t) = 0.
  Proof.
    intros i t Hi Ht. pose proof (child_columns t Ht) as Hc. unfold fetched_column in *.
    rewrite at_h by lia. unfold masked_column. destruct (Nat.eqb_spec (address_column t + address_bits) 1); [lia|].
    unfold planner_position, one_column, here_column.
    destruct (Nat.eqb_spec (address_column t + address_bits) 0); [lia|].
    destruct (Nat.ltb_spec (address_column t + address_bits) 4); [lia|].
    destruct (Nat.ltb_spec (address_column t + address_bits) (4 + address_bits)); [unfold address_bits, bits_for in *;
      lia|].
    replace (address_column t + address_bits - address_column 0)%nat with (address_bits + t * (address_bits + 1))%nat
      by (unfold address_column; lia).
    rewrite Nat.mod_add, Nat.mod_small by lia. rewrite Nat.ltb_irrefl. reflexivity.
  Qed.

  Lemma h_one : forall i, (i < rows)%nat -> at_column (nth i h []) one_column = one p.
  Proof. intros i Hi. pose proof width_at_least_4. rewrite at_h by (unfold one_column; lia). reflexivity. Qed.

  Lemma address_is_found : forall i t, (i < rows)%nat -> (t < length children)%nat ->
    points_to p planner_width one_column (seq (address_column t) address_bits) (seq here_column address_bits)
              (nth i h []) h (nth t children (fun i => i) i).
  Proof.
    intros i t Hi Ht. pose proof (child_columns t Ht) as Hc. unfold fetched_column in Hc. pose proof width_at_least_4.
    assert (Hchild : (nth t children (fun i => i) i < rows)%nat).
    { apply children_are_rows; [assumption | apply nth_In; assumption]. }
    apply address_points_to; rewrite ?h_length; try assumption; unfold one_column, here_column in *; try lia.
    - apply codes_suffice.
    - intros j Hj. split; [apply h_row_length; assumption|]. split; [apply h_one; assumption|].
      apply h_holds_own_code with t; assumption.
    - apply h_row_length. assumption.
    - apply h_one. assumption.
    - apply h_holds_address; assumption.
  Qed.

  (** What the heads give to row i. *)
  Definition fetched_by (i t : nat) : vector :=
    map (fun c => inner p (nth (nth t children (fun i => i) i) h [])
                          (dense planner_width (if Nat.eqb c (fetched_column t) then [(masked_column, one p)] else [])))
        (seq 0 planner_width).

  Lemma at_fetched_by : forall i t c, (i < rows)%nat -> (t < length children)%nat -> (c < planner_width)%nat ->
    at_column (fetched_by i t) c
    = if Nat.eqb c (fetched_column t) then flag p (is_masked (nth t children (fun i => i) i)) else 0.
  Proof.
    intros i t c Hi Ht Hc. unfold fetched_by. rewrite at_map_seq by assumption.
    assert (Hchild : (nth t children (fun i => i) i < rows)%nat).
    { apply children_are_rows; [assumption | apply nth_In; assumption]. }
    pose proof width_at_least_4. pose proof one_or_zero as [H1 [H0 _]].
    destruct (Nat.eqb c (fetched_column t)).
    - rewrite inner_dense by (try apply h_row_length; try apply fits_single; unfold masked_column; assumption || lia).
      rewrite apply_single by assumption. rewrite at_h by (unfold masked_column; assumption || lia). simpl.
      apply multiply_one; [assumption|]. unfold flag. destruct (is_masked _); assumption.
    - rewrite inner_dense by (try apply h_row_length; try apply fits_nil; assumption). reflexivity.
  Qed.

  Let results (i : nat) : list vector := map (fetched_by i) (seq 0 (length children)).
  Let g (i : nat) : vector := attended p (nth i h []) (results i).

  Lemma results_length : forall i r, (i < rows)%nat -> In r (results i) -> length r = length (nth i h []).
  Proof.
    intros i r Hi Hr. apply in_map_iff in Hr. destruct Hr as [t [<- _]]. rewrite h_row_length by assumption.
    unfold fetched_by. rewrite map_length, seq_length. reflexivity.
  Qed.

  Lemma g_length : forall i, (i < rows)%nat -> length (g i) = planner_width.
  Proof.
    intros i Hi. unfold g. rewrite attended_length by (intros; apply results_length; assumption).
    apply h_row_length. assumption.
  Qed.

  Lemma at_g : forall i c, (i < rows)%nat -> (c < planner_width)%nat ->
    at_column (g i) c
    = add p (sum p (map (fun t => at_column (fetched_by i t) c) (seq 0 (length children)))) (at_column (nth i h []) c).
  Proof.
    intros i c Hi Hc. unfold g. rewrite at_attended.
    - unfold results. rewrite map_map. reflexivity.
    - intros. apply results_length; assumption.
    - rewrite h_row_length; assumption.
  Qed.

  Lemma h_representable : forall i c, (i < rows)%nat -> (c < planner_width)%nat ->
    representable p (at_column (nth i h []) c).
  Proof.
    intros i c Hi Hc. rewrite at_h by assumption. pose proof one_or_zero. unfold flag.
    destruct (Nat.eqb c masked_column); [destruct (is_masked i); tauto | apply position_representable].
  Qed.

  Lemma at_g_low : forall i c, (i < rows)%nat -> (c < 4)%nat -> at_column (g i) c = at_column (nth i h []) c.
  Proof.
    intros i c Hi Hc. pose proof width_at_least_4. rewrite at_g by lia.
    pose proof one_or_zero as [_ [H0 _]].
    assert (Hz : sum p (map (fun t => at_column (fetched_by i t) c) (seq 0 (length children))) = 0).
    { apply sum_from_zeros; [assumption|]. intros t Ht. apply in_seq in Ht. rewrite at_fetched_by by lia.
      pose proof (child_columns t ltac:(lia)) as Hcc. unfold fetched_column.
      destruct (Nat.eqb_spec c (address_column t + address_bits)); [lia | reflexivity]. }
    rewrite Hz. apply add_0_l. apply h_representable; lia.
  Qed.

  Lemma fetched_increase : forall s t, (s < t)%nat -> (fetched_column s < fetched_column t)%nat.
  Proof. intros s t H. unfold fetched_column, address_column. nia. Qed.

  Lemma at_g_fetched : forall i t, (i < rows)%nat -> (t < length children)%nat ->
    at_column (g i) (fetched_column t) = flag p (is_masked (nth t children (fun i => i) i)).
  Proof.
    intros i t Hi Ht. pose proof (child_columns t Ht) as [_ Hc]. rewrite at_g by assumption.
    pose proof one_or_zero as [H1 [H0 _]].
    assert (Hflag : representable p (flag p (is_masked (nth t children (fun i => i) i)))).
    { unfold flag. destruct (is_masked _); assumption. }
    rewrite sum_single with (x := t).
    - rewrite at_fetched_by, Nat.eqb_refl, h_fetched_is_0 by assumption. apply add_0_r. assumption.
    - assumption.
    - rewrite at_fetched_by, Nat.eqb_refl by assumption. assumption.
    - apply seq_NoDup.
    - apply in_seq. lia.
    - intros s Hs Hne. apply in_seq in Hs. rewrite at_fetched_by by lia.
      destruct (Nat.eqb_spec (fetched_column t) (fetched_column s)) as [E|]; [|reflexivity].
      destruct (Nat.lt_total s t) as [Hlt|[->|Hlt]]; [|contradiction|]; pose proof (fetched_increase _ _ Hlt); lia.
  Qed.

  (** The one hidden unit. *)
  Lemma unit_is_ready : forall i, (i < rows)%nat ->
    unit_value p (and_unit p [] masked_column fetched_columns) (g i) = flag p (ready i).
  Proof.
    intros i Hi. pose proof (one_at_least_2 p p_positive).
    assert (Hmask : at_column (g i) masked_column = flag p (is_masked i)).
    { rewrite at_g_low by (unfold masked_column; lia).
      pose proof width_at_least_4. rewrite at_h by (unfold masked_column; lia). reflexivity. }
    rewrite and_is_and; [|assumption|].
    - rewrite Hmask. simpl app. unfold ready.
      replace (none (g i) fetched_columns) with (forallb (fun child => negb (is_masked (child i))) children).
      + unfold flag. destruct (is_masked i); cbv iota.
        * rewrite Z.eqb_refl. reflexivity.
        * rewrite (proj2 (Z.eqb_neq 0 (one p))) by lia. reflexivity.
      + assert (Hc : children = map (fun t => nth t children (fun i => i)) (seq 0 (length children))).
        { apply nth_ext with (d := fun i => i) (d' := fun i => i); [rewrite map_length, seq_length; reflexivity|].
          intros t Ht. rewrite nth_map_seq by assumption. reflexivity. }
        unfold none, fetched_columns. rewrite Hc at 1. clear Hc.
        rewrite !forallb_map. apply forallb_ext_in. intros t Ht. apply in_seq in Ht. rewrite at_g_fetched by lia.
        unfold flag. destruct (is_masked (nth t children (fun i => i) i)); cbv iota; [|reflexivity].
        rewrite (proj2 (Z.eqb_neq (one p) 0)) by lia. reflexivity.
    - simpl. constructor; [rewrite Hmask; apply flag_is_flag|]. apply Forall_forall. intros k Hk.
      apply in_map_iff in Hk. destruct Hk as [t [<- Ht]]. apply in_seq in Ht. rewrite at_g_fetched by lia.
      apply flag_is_flag.
  Qed.

  Lemma unit_fits : fits planner_width (fst (and_unit p [] masked_column fetched_columns)).
  Proof.
    assert (Hfst : map fst (fst (and_unit p [] masked_column fetched_columns)) = masked_column :: fetched_columns).
    { simpl. f_equal. unfold negative. rewrite map_map. simpl. apply map_id. }
    unfold fits. rewrite Hfst. pose proof width_at_least_4. split.
    - constructor; [apply sorted_map_seq, fetched_increase|]. apply Forall_forall. intros k Hk.
      apply in_map_iff in Hk. destruct Hk as [t [<- _]]. unfold fetched_column, address_column, masked_column. lia.
    - constructor; [unfold masked_column; lia|]. apply Forall_forall. intros k Hk.
      apply in_map_iff in Hk. destruct Hk as [t [<- Ht]]. apply in_seq in Ht. apply child_columns. lia.
  Qed.

  Lemma planner_row : forall i, (i < rows)%nat ->
    exists result, layer_row p e planner_layer h (nth i h []) = Some result
      /\ length result = planner_width /\ at_column result one_column = one p
      /\ at_column result take_column = flag p (ready i) /\ at_column result (take_column + 1) = flag p (ready i).
  Proof.
    intros i Hi. pose proof width_at_least_4 as Hw. pose proof one_or_zero as [H1 [H0 _]].
    exists (plus p (g i) (mlp_output p (feed_forward planner_layer) (g i))).
    assert (Hlen : length (g i) = length (mlp_output p (feed_forward planner_layer) (g i))).
    { rewrite g_length by assumption. unfold planner_layer. cbn [feed_forward]. rewrite mlp_output_length. reflexivity.
      }
    split; [|split].
    - apply layer_row_of_heads. unfold results, planner_layer. simpl heads.
      apply Forall2_map. intros t Ht. apply in_seq in Ht.
      apply lookup_copies; [assumption|]. apply address_is_found; [assumption | lia].
    - rewrite plus_length by assumption. apply g_length. assumption.
    - assert (added : forall c, (c < 4)%nat -> at_column (plus p (g i) (mlp_output p (feed_forward planner_layer) (g
        i))) c
                = add p (at_column (nth i h []) c)
                        (if ((c =? take_column) || (c =? take_column + 1))%nat then flag p (ready i) else 0)).
      { intros c Hc. rewrite at_plus by (try assumption; rewrite g_length by assumption; lia).
        rewrite at_g_low by assumption. f_equal. unfold planner_layer. cbn [feed_forward].
        rewrite mlp_output_of; try assumption.
        - cbn [map]. rewrite unit_is_ready by assumption. cbv beta.
          destruct ((c =? take_column) || (c =? take_column + 1))%nat; unfold unit_value; cbn [fst snd].
          + rewrite apply_single by assumption. unfold at_column. simpl nth.
            assert (R : representable p (flag p (ready i))) by (unfold flag; destruct (ready i); assumption).
            rewrite multiply_one, add_0_r by assumption. pose proof (one_at_least_2 p p_positive).
            unfold relu, flag. destruct (ready i); lia.
          + unfold apply_form, sum, sum_from. simpl. rewrite add_0_r by assumption. reflexivity.
        - constructor; [apply unit_fits | constructor].
        - apply g_length. assumption.
        - lia.
        - destruct ((c =? take_column) || (c =? take_column + 1))%nat; [apply fits_single; simpl; lia | apply fits_nil].
          }
      assert (R : representable p (flag p (ready i))) by (unfold flag; destruct (ready i); assumption).
      split; [|split].
      + rewrite added by (unfold one_column; lia). rewrite h_one by assumption. apply add_0_r. assumption.
      + rewrite added by (unfold take_column; lia). simpl orb. rewrite at_h by (unfold take_column; lia).
        apply add_0_l. assumption.
      + rewrite added by (unfold take_column; lia). simpl. rewrite at_h by (unfold take_column; lia).
        apply add_0_l. assumption.
  Qed.

  Theorem planner_decides : exists u, logits p e readiness_planner tokens = Some u
    /\ forall i, (i < rows)%nat -> Nat.eqb (argmax (nth i u [])) 1 = ready i.
  Proof.
    destruct (run_layer_rows p e planner_layer h
                (fun i result => length result = planner_width /\ at_column result one_column = one p
                   /\ at_column result take_column = flag p (ready i)
                   /\ at_column result (take_column + 1) = flag p (ready i))) as [next [Hrun [Hlength Hall]]].
    { intros i Hi. apply planner_row. rewrite h_length in Hi. assumption. }
    rewrite h_length in *. unfold logits. simpl layers. unfold run_layers. fold h. rewrite Hrun. simpl option_map.
    eexists. split; [reflexivity|]. intros i Hi. destruct (Hall i Hi) as [Hwidth [Hone [Htake Htake']]].
    rewrite (nth_map vector vector _ _ _ _ []) by lia.
    unfold readiness_planner, transformer_of. cbn [out seq map]. unfold times. cbn [map].
    pose proof width_at_least_4. pose proof (bound_positive p p_positive).
    pose proof (bound_representable p p_positive) as HB.
    pose proof (opposite_representable p _ HB) as HB'. pose proof (one_at_least_2 p p_positive).
    assert (Hfits : forall d, fits planner_width (planner_output d)).
    { intro d. unfold planner_output, fits, one_column, take_column. simpl. repeat constructor; lia. }
    rewrite !inner_dense by auto. unfold planner_output, apply_form. cbn [Nat.eqb map fst snd].
    rewrite Hone, Htake, Htake'. unfold flag.
    replace (- (1) * bound p) with (- bound p) by lia. replace (- (-1) * bound p) with (bound p) by lia.
    replace (1 * bound p) with (bound p) by lia. replace (-1 * bound p) with (- bound p) by lia.
    rewrite !one_multiply by assumption.
    unfold sum, sum_from, argmax, argmax_from. cbn [fold_left].
    destruct (ready i); rewrite ?one_multiply, ?multiply_0_l by assumption; unfold add, clip;
      match goal with |- context [?a <? ?b] => destruct (Z.ltb_spec a b) end; try reflexivity; lia.
  Qed.
End Planner.
