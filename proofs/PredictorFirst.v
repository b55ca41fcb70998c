(** The predictor's first layer: from the features of both factors to those which their product lacks. *)

From Coq Require Import ZArith Lia List Bool Arith Sorting.Sorted.
From Unmask Require Import Numbers Flags Sums Exponential Layer Forms LayerRows GadgetEq GadgetLogic.
From Unmask Require Import Diffusion Codes Programs Monoid Vocabulary Coding Predictor PredictorRows.
Import ListNotations.
Open Scope Z_scope.

Lemma sorted_filter : forall (test : nat -> bool) l, StronglySorted lt l -> StronglySorted lt (filter test l).
Proof.
  intros test l H. induction H as [|x l Hl IH Hx]; simpl; [constructor|].
  destruct (test x); [|assumption]. constructor; [assumption|].
  apply Forall_forall. intros y Hy. apply filter_In in Hy. rewrite Forall_forall in Hx. apply Hx. tauto.
Qed.

Lemma sorted_seq : forall n first, StronglySorted lt (seq first n).
Proof.
  intros n first. rewrite <- (map_id (seq first n)). apply sorted_map_seq. intros i j H. assumption.
Qed.

Lemma fits_negative : forall p w l, StronglySorted lt l -> Forall (fun k => (k < w)%nat) l -> fits w (negative p l).
Proof.
  intros p w l Hs Hb. unfold fits, negative. rewrite map_map. simpl. rewrite map_id. split; assumption.
Qed.

(** A short form whose columns are known. *)
Ltac fits_list :=
  split; simpl; repeat (apply SSorted_cons || apply SSorted_nil || apply Forall_cons || apply Forall_nil); try lia.

Section First.
  Variables (p : Z) (m : monoid) (c : coding) (rows : nat) (waits : bool).
  Variables (factor : side -> nat -> nat) (tokens : list nat).
  Variable e : exponential p.
  Hypothesis p_at_least_2 : 2 <= p.
  Hypothesis laws : lawful m.
  Hypothesis coded : codes m c.
  Hypothesis length_tokens : length tokens = rows.
  Hypothesis known_tokens : forall i, (i < rows)%nat -> (nth i tokens 0 < symbols m)%nat.
  Hypothesis factors_are_rows : forall s i, (i < rows)%nat -> (factor s i < rows)%nat.

  Let width := width m c rows.
  Let h := embedded p (product_predictor p m c rows waits factor) tokens.
  Let p_positive : 1 <= p.
  Proof. lia. Qed.
  Let results (i : nat) : list vector :=
    [brought p m c rows waits factor tokens left_side i; brought p m c rows waits factor tokens right_side i].
  Let g (i : nat) : vector := attended p (nth i h []) (results i).

  Lemma results_length : forall i r, (i < rows)%nat -> In r (results i) -> length r = length (nth i h []).
  Proof.
    intros i r Hi Hr. unfold h. rewrite h_row_length by assumption.
    destruct Hr as [<-|[<-|[]]]; unfold brought; rewrite map_length, seq_length; reflexivity.
  Qed.

  Lemma g_length : forall i, (i < rows)%nat -> length (g i) = width.
  Proof.
    intros i Hi. unfold g. rewrite attended_length by (intros; apply results_length; assumption).
    apply h_row_length; assumption.
  Qed.

  Lemma at_g : forall i k, (i < rows)%nat -> (k < width)%nat ->
    at_column (g i) k
    = add p (add p (add p 0 (at_column (brought p m c rows waits factor tokens left_side i) k))
                   (at_column (brought p m c rows waits factor tokens right_side i) k))
            (at_column (nth i h []) k).
  Proof.
    intros i k Hi Hk. unfold g. rewrite at_attended.
    - reflexivity.
    - intros. apply results_length; assumption.
    - unfold h. rewrite h_row_length; assumption.
  Qed.

  (** Columns that no head writes stay as they are. *)
  Lemma at_g_kept : forall i k, (i < rows)%nat -> (k < width)%nat ->
    (k < fetched c rows left_side \/ ready_column c rows <= k)%nat -> at_column (g i) k = at_column (nth i h []) k.
  Proof.
    intros i k Hi Hk Hout. rewrite at_g by assumption. rewrite !at_brought by assumption.
    assert (zero : forall s, (if Nat.eqb k (absent c rows s) then flag p (hidden_symbol m tokens (factor s i))
              else if ((fetched c rows s <=? k) && (k <? fetched c rows s + features c s))%nat
                   then flag p (feature m c s (token tokens (factor s i)) (k - fetched c rows s)) else 0) = 0).
    { intro s. destruct (Nat.eqb_spec k (absent c rows s)); [destruct s; columns; lia|].
      destruct (Nat.leb_spec (fetched c rows s) k); [|reflexivity].
      destruct (Nat.ltb_spec k (fetched c rows s + features c s)); [destruct s; columns; lia | reflexivity]. }
    rewrite !zero. pose proof (zero_representable p p_positive). rewrite !add_0_l; try assumption; [reflexivity|].
    unfold h. rewrite at_h by assumption.
    repeat match goal with |- context [if ?b then _ else _] => destruct b end;
      try apply flag_representable; try apply position_is_representable; assumption.
  Qed.

  Lemma h_fetched_is_0 : forall i k, (i < rows)%nat -> (fetched c rows left_side <= k < width)%nat ->
    at_column (nth i h []) k = 0.
  Proof.
    intros i k Hi Hk. unfold h. rewrite at_h by (try assumption; lia).
    destruct (Nat.eqb_spec k masked); [columns; lia|].
    destruct (Nat.ltb_spec k (own c rows left_side)); [columns; lia|].
    destruct (Nat.ltb_spec k (own c rows right_side)); [columns; lia|].
    destruct (Nat.ltb_spec k (fetched c rows left_side)); [lia | reflexivity].
  Qed.

  Lemma at_g_fetched : forall s i f, (i < rows)%nat -> (f < features c s)%nat ->
    at_column (g i) (fetched c rows s + f) = flag p (feature m c s (token tokens (factor s i)) f).
  Proof.
    intros s i f Hi Hf. pose proof (zero_representable p p_positive).
    assert (Hcol : (fetched c rows left_side <= fetched c rows s + f < width)%nat) by (unfold width; destruct s;
      columns; lia).
    rewrite at_g by (try assumption; lia). rewrite h_fetched_is_0 by assumption.
    rewrite !at_brought by (try assumption; lia).
    pose proof (flag_representable p (feature m c s (token tokens (factor s i)) f) p_positive) as R.
    destruct s.
    - destruct (Nat.eqb_spec (fetched c rows left_side + f) (absent c rows left_side)); [columns; lia|].
      destruct (Nat.eqb_spec (fetched c rows left_side + f) (absent c rows right_side)); [columns; lia|].
      destruct (Nat.leb_spec (fetched c rows left_side) (fetched c rows left_side + f)); [|lia].
      destruct (Nat.ltb_spec (fetched c rows left_side + f) (fetched c rows left_side + features c left_side)); [|lia].
      destruct (Nat.leb_spec (fetched c rows right_side) (fetched c rows left_side + f)); [columns; lia|]. cbn [andb].
      replace (fetched c rows left_side + f - fetched c rows left_side)%nat with f by lia.
      rewrite add_0_l by assumption. rewrite !add_0_r; rewrite ?add_0_r; try assumption. reflexivity.
    - destruct (Nat.eqb_spec (fetched c rows right_side + f) (absent c rows left_side)); [columns; lia|].
      destruct (Nat.eqb_spec (fetched c rows right_side + f) (absent c rows right_side)); [columns; lia|].
      destruct (Nat.leb_spec (fetched c rows right_side) (fetched c rows right_side + f)); [|lia].
      destruct (Nat.ltb_spec (fetched c rows right_side + f) (fetched c rows right_side + features c right_side));
        [|lia].
      destruct (Nat.ltb_spec (fetched c rows right_side + f) (fetched c rows left_side + features c left_side));
        [columns; lia|].
      rewrite andb_false_r. cbn [andb].
      replace (fetched c rows right_side + f - fetched c rows right_side)%nat with f by lia.
      rewrite !add_0_l by assumption. apply add_0_r. assumption.
  Qed.

  Lemma at_g_absent : forall s i, (i < rows)%nat ->
    at_column (g i) (absent c rows s) = flag p (hidden_symbol m tokens (factor s i)).
  Proof.
    intros s i Hi. pose proof (zero_representable p p_positive).
    assert (Hcol : (fetched c rows left_side <= absent c rows s < width)%nat) by (unfold width; destruct s; columns;
      lia).
    rewrite at_g by (try assumption; lia). rewrite h_fetched_is_0 by assumption.
    rewrite !at_brought by (try assumption; lia).
    pose proof (flag_representable p (hidden_symbol m tokens (factor s i)) p_positive) as R.
    destruct s; rewrite Nat.eqb_refl.
    - destruct (Nat.eqb_spec (absent c rows left_side) (absent c rows right_side)); [columns; lia|].
      destruct (Nat.ltb_spec (absent c rows left_side) (fetched c rows right_side + features c right_side)); [columns;
        lia|].
      rewrite andb_false_r, add_0_l by assumption. rewrite !add_0_r; rewrite ?add_0_r; try assumption. reflexivity.
    - destruct (Nat.eqb_spec (absent c rows right_side) (absent c rows left_side)); [columns; lia|].
      destruct (Nat.ltb_spec (absent c rows right_side) (fetched c rows left_side + features c left_side)); [columns;
        lia|].
      rewrite andb_false_r, !add_0_l by assumption. apply add_0_r. assumption.
  Qed.

  (** A row that has both factors: what they stand for, and that nothing is waited for. *)
  Definition has_factors (i a b : nat) : Prop :=
    element_of m (token tokens (factor left_side i)) = Some a
    /\ element_of m (token tokens (factor right_side i)) = Some b
    /\ (waits = true -> forall s, hidden_symbol m tokens (factor s i) = false).

  (** What the first layer makes of such a row, whose product is x. *)
  Definition multiplied (i x : nat) (r : vector) : Prop :=
    at_column r always = one p
    /\ at_column r last_row = flag p (i =? rows - 1)%nat
    /\ at_column r inner_row = flag p (negb (i =? rows - 1)%nat)
    /\ Forall (fun k => at_column r k = 0) (waiting c rows waits)
    /\ at_column r (ready_column c rows) = one p
    /\ (forall f, (f < left_features c)%nat -> at_column r (missing c rows + f)
      = flag p (negb (member f (result_of c x))))
    /\ (forall k, (product_copy m c rows left_side <= k < width)%nat -> at_column r k = 0).

  Lemma triple_value : forall i a b t, (i < rows)%nat -> has_factors i a b -> In t (triples c) ->
    unit_value p (triple_unit p c rows t) (g i) = flag p (fires c a b t).
  Proof.
    intros i a b [[l r] f] Hi [Ha [Hb _]] Ht. pose proof (triples_fit m c coded) as Hfit. rewrite Forall_forall in Hfit.
    specialize (Hfit _ Ht). simpl in Hfit. destruct Hfit as [Hl Hr].
    unfold unit_value, triple_unit, apply_form, sum, sum_from. cbn [fst snd map fold_left].
    rewrite (at_g_fetched left_side) by assumption. rewrite (at_g_fetched right_side) by assumption.
    rewrite !multiply_one by (try apply flag_representable; assumption).
    unfold fires, feature. rewrite Ha, Hb. cbn [features_of].
    pose proof (three_ones_below_bound p p_at_least_2). pose proof (one_at_least_2 p p_positive).
    unfold flag. destruct (member l (left_of c a)), (member r (right_of c b)); cbn [andb]; unfold relu, add, clip; lia.
  Qed.

  Lemma waiting_is_over : forall i a b, (i < rows)%nat -> has_factors i a b ->
    Forall (fun k => at_column (g i) k = 0) (waiting c rows waits).
  Proof.
    intros i a b Hi [_ [_ Hw]]. unfold waiting. destruct waits; [|constructor].
    repeat constructor; rewrite at_g_absent by assumption; rewrite Hw by reflexivity; reflexivity.
  Qed.

  Lemma all_zero_none : forall (x : vector) l, Forall (fun k => at_column x k = 0) l -> flags p x l /\ none x l = true.
  Proof.
    intros x l H. split.
    - apply Forall_forall. intros k Hk. rewrite Forall_forall in H. left. auto.
    - apply forallb_forall. intros k Hk. rewrite Forall_forall in H. apply Z.eqb_eq. auto.
  Qed.

  Let units : list unit_pair := map (triple_unit p c rows) (triples c) ++ [nor_unit p (waiting c rows waits)].

  Lemma units_fit : Forall (fun u => fits width (fst u)) units.
  Proof.
    apply Forall_app. split.
    - apply Forall_forall. intros u Hu. apply in_map_iff in Hu. destruct Hu as [[[l r] f] [<- Ht]].
      pose proof (triples_fit m c coded) as Hfit. rewrite Forall_forall in Hfit. specialize (Hfit _ Ht). simpl in Hfit.
      unfold width. columns. fits_list.
    - constructor; [|constructor]. unfold width, nor_unit, waiting. columns. destruct waits; fits_list.
  Qed.

  (** The hidden units: one per triple that fires, and the last one for "both are there". *)
  Lemma hidden_values : forall i a b, (i < rows)%nat -> has_factors i a b ->
    map (fun u => unit_value p u (g i)) units = map (fun t => flag p (fires c a b t)) (triples c) ++ [one p].
  Proof.
    intros i a b Hi Hf. unfold units. rewrite map_app, map_map. f_equal.
    - apply map_ext_in. intros t Ht. apply triple_value; assumption.
    - simpl. destruct (all_zero_none (g i) (waiting c rows waits) (waiting_is_over i a b Hi Hf)) as [Hflags Hnone].
      rewrite nor_is_nor by assumption. rewrite Hnone. reflexivity.
  Qed.

  Lemma units_of_nothing : forall a b f,
    none (map (fun t => flag p (fires c a b t)) (triples c) ++ [one p]) (units_of c f)
    = negb (existsb (fun t => (result t =? f)%nat && fires c a b t) (triples c)).
  Proof.
    intros a b f. unfold none, units_of. set (hv := map _ _ ++ _).
    assert (value : forall u, (u < length (triples c))%nat ->
              at_column hv u = flag p (fires c a b (nth u (triples c) (0, 0, 0)%nat))).
    { intros u Hu. unfold hv, at_column. rewrite app_nth1 by (rewrite map_length; assumption).
      apply (nth_map _ _ (fun t => flag p (fires c a b t))). assumption. }
    apply Bool.eq_true_iff_eq. rewrite negb_true_iff, forallb_forall. split.
    - intro H. destruct (existsb _ _) eqn:E; [|reflexivity]. apply existsb_exists in E. destruct E as [t [Ht E]].
      apply andb_true_iff in E. destruct E as [E1 E2]. apply In_nth with (d := (0, 0, 0)%nat) in Ht.
      destruct Ht as [u [Hu <-]]. assert (Hin : In u (filter (fun u => Nat.eqb (result (nth u (triples c) (0, 0,
        0)%nat)) f)
                                                       (seq 0 (length (triples c))))).
      { apply filter_In. split; [apply in_seq; lia | assumption]. }
      specialize (H u Hin). rewrite value, E2 in H by assumption. rewrite flag_is_zero in H by assumption. discriminate.
    - intros E u Hu. apply filter_In in Hu. destruct Hu as [Hu Hr]. apply in_seq in Hu.
      rewrite value by lia. rewrite flag_is_zero by assumption. apply negb_true_iff.
      destruct (fires c a b (nth u (triples c) (0, 0, 0)%nat)) eqn:Ef; [|reflexivity].
      exfalso. assert (Hex : existsb (fun t => (result t =? f)%nat && fires c a b t) (triples c) = true).
      { apply existsb_exists. exists (nth u (triples c) (0, 0, 0)%nat). split; [apply nth_In; lia|].
        rewrite Hr, Ef. reflexivity. }
      congruence.
  Qed.

  Lemma hidden_flags : forall a b l, Forall (fun u => (u < length (triples c))%nat) l ->
    flags p (map (fun t => flag p (fires c a b t)) (triples c) ++ [one p]) l.
  Proof.
    intros a b l H. apply Forall_forall. intros u Hu. rewrite Forall_forall in H. specialize (H u Hu).
    unfold at_column. rewrite app_nth1 by (rewrite map_length; assumption).
    rewrite (nth_map _ _ (fun t => flag p (fires c a b t)) _ _ _ (0, 0, 0)%nat) by assumption. apply flag_is_flag.
  Qed.

  Lemma units_of_bound : forall f, Forall (fun u => (u < length (triples c))%nat) (units_of c f).
  Proof. intro f. apply Forall_forall. intros u Hu. apply filter_In in Hu. destruct Hu as [Hu _]. apply in_seq in Hu.
  lia. Qed.

  Theorem first_layer_multiplies : forall i, (i < rows)%nat ->
    exists r, layer_row p e (first_layer p m c rows waits) h (nth i h []) = Some r
      /\ length r = width /\ (forall a b, has_factors i a b -> multiplied i (product m a b) r).
  Proof.
    intros i Hi. exists (plus p (g i) (mlp_output p (feed_forward (first_layer p m c rows waits)) (g i))).
    assert (Hlen : length (g i) = length (mlp_output p (feed_forward (first_layer p m c rows waits)) (g i))).
    { rewrite g_length by assumption. unfold first_layer. cbn [feed_forward]. rewrite mlp_output_length. reflexivity. }
    split; [|split].
    - apply layer_row_of_heads. unfold results, first_layer, fetch. cbn [heads].
      repeat constructor; apply lookup_copies; try assumption; apply factor_is_found; assumption.
    - rewrite plus_length by assumption. apply g_length. assumption.
    - intros a b Hf. pose proof (zero_representable p p_positive) as H0.
      pose proof (one_representable p p_positive) as H1.
      assert (Hunits : length units = S (length (triples c))) by (unfold units; rewrite app_length, map_length; simpl;
        lia).
      assert (output_fits : forall k, fits (length units)
                (fst (if (k =? ready_column c rows)%nat then ([(length (triples c), one p)], 0)
                      else if ((missing c rows <=? k) && (k <? missing c rows + left_features c))%nat
                           then nor_unit p (units_of c (k - missing c rows)) else ([], 0)))).
      { intro k. rewrite Hunits. destruct (k =? ready_column c rows)%nat; [apply fits_single; lia|].
        destruct (_ && _)%bool; [|apply fits_nil]. apply fits_negative; [apply sorted_filter, sorted_seq|].
        eapply Forall_impl; [|apply units_of_bound]. simpl. lia. }
      assert (value : forall k, (k < width)%nat ->
        at_column (plus p (g i) (mlp_output p (feed_forward (first_layer p m c rows waits)) (g i))) k
        = add p (at_column (g i) k)
            (unit_value p (if (k =? ready_column c rows)%nat then ([(length (triples c), one p)], 0)
                           else if ((missing c rows <=? k) && (k <? missing c rows + left_features c))%nat
                                then nor_unit p (units_of c (k - missing c rows)) else ([], 0))
                          (map (fun t => flag p (fires c a b t)) (triples c) ++ [one p]))).
      { intros k Hk. rewrite at_plus by (try assumption; rewrite g_length by assumption; assumption).
        f_equal. unfold first_layer. cbn [feed_forward].
        rewrite mlp_output_of; [| assumption | apply units_fit | apply g_length;
          assumption | assumption | apply output_fits].
        rewrite <- (hidden_values i a b) by assumption. reflexivity. }
      assert (other : forall k, (k < width)%nat -> k <> ready_column c rows ->
                ~ (missing c rows <= k < missing c rows + left_features c)%nat -> representable p (at_column (g i) k) ->
                at_column (plus p (g i) (mlp_output p (feed_forward (first_layer p m c rows waits)) (g i))) k
                  = at_column (g i) k).
      { intros k Hk Hr Hm Hrep. rewrite value by assumption.
        destruct (Nat.eqb_spec k (ready_column c rows)); [contradiction|].
        replace ((missing c rows <=? k) && (k <? missing c rows + left_features c))%nat with false
          by (symmetry; apply andb_false_iff; rewrite Nat.leb_gt, Nat.ltb_ge; lia).
        unfold unit_value, apply_form, sum, sum_from. simpl. rewrite add_0_r by assumption. simpl. apply add_0_r.
        assumption. }
      assert (low : forall k, (k < 3)%nat ->
                at_column (plus p (g i) (mlp_output p (feed_forward (first_layer p m c rows waits)) (g i))) k
                = predictor_position p c rows factor i k).
      { intros k Hk.
        assert (E : at_column (g i) k = predictor_position p c rows factor i k).
        { rewrite at_g_kept by (try assumption; unfold width; columns; lia). unfold h.
          rewrite at_h by (try assumption; unfold width; columns; lia).
          destruct (Nat.eqb_spec k masked); [columns; lia|].
          destruct (Nat.ltb_spec k (own c rows left_side)); [reflexivity | columns; lia]. }
        rewrite other; try assumption; try (unfold width; columns; lia). rewrite E. apply position_is_representable.
        assumption. }
      split; [|split; [|split; [|split; [|split; [|split]]]]].
      + rewrite low by (columns; lia). reflexivity.
      + rewrite low by (columns; lia). unfold predictor_position, flag. simpl.
        destruct (i =? rows - 1)%nat; reflexivity.
      + rewrite low by (columns; lia). unfold predictor_position, flag. simpl.
        destruct (i =? rows - 1)%nat; reflexivity.
      + pose proof (waiting_is_over i a b Hi Hf) as Hw. rewrite Forall_forall in *. intros k Hk. specialize (Hw k Hk).
        assert (Hrange : (factors_end c rows <= k < factors_end c rows + 2)%nat).
        { unfold waiting in Hk. destruct waits; cbn [In] in Hk; [columns; lia | destruct Hk]. }
        rewrite other; [assumption | | | | rewrite Hw; assumption]; unfold width; columns; lia.
      + rewrite value by (unfold width; columns; lia). rewrite Nat.eqb_refl.
        rewrite at_g_kept by (try assumption; unfold width; columns; lia).
        rewrite h_fetched_is_0 by (try assumption; unfold width; columns; lia).
        unfold unit_value. cbn [fst snd]. rewrite apply_single by assumption.
        unfold at_column. rewrite app_nth2 by (rewrite map_length; lia). rewrite map_length, Nat.sub_diag. cbn [nth].
        rewrite multiply_one, add_0_r by assumption. pose proof (one_at_least_2 p p_positive).
        unfold relu. rewrite Z.max_l by lia. apply add_0_l. assumption.
      + intros f Hfe. rewrite value by (unfold width; columns; lia).
        destruct (Nat.eqb_spec (missing c rows + f) (ready_column c rows)); [columns; lia|].
        destruct (Nat.leb_spec (missing c rows) (missing c rows + f)); [|lia].
        destruct (Nat.ltb_spec (missing c rows + f) (missing c rows + left_features c)); [|lia]. cbn [andb].
        replace (missing c rows + f - missing c rows)%nat with f by lia.
        rewrite at_g_kept by (try assumption; unfold width; columns; lia).
        rewrite h_fetched_is_0 by (try assumption; unfold width; columns; lia).
        rewrite nor_is_nor by (try assumption; apply hidden_flags, units_of_bound).
        rewrite units_of_nothing. destruct Hf as [Ha [Hb _]].
        rewrite (products_are_coded m c coded) by
          (try assumption; eapply element_is_element; eassumption).
        rewrite add_0_l; [reflexivity|]. destruct (negb _); assumption.
      + intros k Hk. assert (E : at_column (g i) k = 0).
        { rewrite at_g_kept by (try assumption; columns; lia). apply h_fetched_is_0; [assumption | columns; lia]. }
        rewrite other; [assumption | lia | columns; lia | columns; lia | rewrite E; assumption].
  Qed.
End First.
