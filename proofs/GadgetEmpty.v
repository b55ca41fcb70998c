(** EMPTY: a head with one sentinel row, whose exponential is 2^-p, and an MLP of two units say whether the head sees
    any other row: whether it would divide by zero without the sentinel. For every p >= 1, any number of rows, any
    columns before it.

    columns  (-B·one | sentinel) twice, ((B + s)·one | sentinel)        exp (s) = 2^-p
    value    share = sentinel;   h = ReLU (share - 1/2) twice,   alone = ReLU (h + h) *)

From Coq Require Import ZArith Lia List Bool.
From Unmask Require Import Numbers Flags Sums Exponential Layer Forms Attention CorrectRounding LayerRows GadgetHide.
Import ListNotations.
Open Scope Z_scope.

(** The least number whose exponential is not 0. *)
Definition faintest (p : Z) (e : Z -> Z) (s : Z) : Prop := representable p s /\ 0 < e s /\ e (s - 1) = 0.

(** Its exponential is 2^-p: e^(s - 2^-p) rounds to 0, and e^(2^-p) is less than 3. *)
Theorem faintest_is_ulp : forall p e s, 1 <= p -> correctly_rounded p e -> faintest p e s -> e s = ulp /\ s < 0.
Proof.
  intros p e s Hp Hround [Hs [Hpos Hzero]]. pose proof (one_at_least_2 p Hp) as HS. pose proof (bound_positive p Hp) as HB.
  assert (Hlow : - bound p < s).
  { apply Z.nle_gt. intro Hle. assert (s = - bound p) by (unfold representable in Hs; lia). subst s.
    pose proof (exp_minus_bound p (exponential_of_rounding p Hp e Hround) Hp) as H. simpl in H. lia. }
  assert (Hbefore : representable p (s - 1)) by (unfold representable in *; lia).
  assert (Hsmall : s <= 0).
  { apply Z.nlt_ge. intro Hlt.
    pose proof (exp_monotone p (exponential_of_rounding p Hp e Hround) 0 (s - 1) (zero_representable p Hp) Hbefore
                  ltac:(lia)) as H.
    rewrite (exp_zero p (exponential_of_rounding p Hp e Hround)) in H. simpl in H. lia. }
  destruct (Hround _ Hbefore) as [_ [_ Hup]]. rewrite Hzero in Hup. destruct Hup as [Hup|Hup]; [lia|].
  unfold not_too_small in Hup. destruct (Z.leb_spec 0 (s - 1)); [lia|]. destruct Hup as [n Hup].
  replace (2 * 0 + 1) with 1 in Hup by reflexivity. rewrite Z.pow_1_l, Z.mul_1_l in Hup by lia.
  replace (- (s - 1)) with (Z.succ (- s)) in Hup by lia. rewrite !Z.pow_succ_r in Hup by lia.
  pose proof (lower_below_upper n 0) as H3. change (factorial 0) with 1 in H3. change (sum_numerator 0) with 2 in H3.
  pose proof (bracket_positive n) as [F1 F2].
  assert (Hf : 0 < factorial n ^ (- s)) by (apply Z.pow_pos_nonneg; lia).
  assert (Hn : 0 < sum_numerator n ^ (- s)) by (apply Z.pow_pos_nonneg; lia).
  assert (Ht : 9 < (2 * one p) ^ one p).
  { apply Z.lt_le_trans with (4 ^ 2); [reflexivity|]. apply Z.le_trans with ((2 * one p) ^ 2).
    - apply Z.pow_le_mono_l. lia.
    - apply Z.pow_le_mono_r; lia. }
  set (t := (2 * one p) ^ one p) in *.
  assert (Hle : t * factorial n ^ (- s) <= 3 * sum_numerator n ^ (- s)).
  { apply (Z.mul_le_mono_pos_l _ _ (factorial n)); [lia|].
    apply Z.le_trans with (sum_numerator n * sum_numerator n ^ (- s)); [|nia].
    replace (factorial n * (t * factorial n ^ (- s))) with (t * (factorial n * factorial n ^ (- s))) by ring. assumption. }
  assert (Hneg : s < 0).
  { apply Z.nle_gt. intro. assert (s = 0) by lia. subst s. simpl in Hle. lia. }
  split; [|assumption].
  apply Z.le_antisymm; [|unfold ulp; lia]. apply Z.nlt_ge. intro Hlt. unfold ulp in Hlt.
  destruct (Hround _ Hs) as [_ [Hl _]]. destruct Hl as [Hl|Hl]; [lia|].
  unfold not_too_large in Hl. destruct (Z.leb_spec 0 s); [lia|]. destruct Hl as [m Hl]. fold t in Hl.
  pose proof (bracket_positive m) as [G1 G2].
  pose proof (lower_below_upper n m) as Hnm.
  assert (Hodd : 9 <= (2 * e s - 1) ^ one p).
  { apply Z.le_trans with (3 ^ 2); [reflexivity|]. apply Z.le_trans with ((2 * e s - 1) ^ 2).
    - apply Z.pow_le_mono_l. lia.
    - apply Z.pow_le_mono_r; lia. }
  assert (Hg : 0 < factorial m ^ (- s)) by (apply Z.pow_pos_nonneg; lia).
  assert (Hu : 0 < (sum_numerator m + 1) ^ (- s)) by (apply Z.pow_pos_nonneg; lia).
  assert (Hcross : sum_numerator n ^ (- s) * factorial m ^ (- s) <= (sum_numerator m + 1) ^ (- s) * factorial n ^ (- s)).
  { rewrite <- !Z.pow_mul_l. apply Z.pow_le_mono_l. nia. }
  set (N := sum_numerator n ^ (- s)) in *. set (F := factorial n ^ (- s)) in *.
  set (G := factorial m ^ (- s)) in *. set (U := (sum_numerator m + 1) ^ (- s)) in *.
  set (o := (2 * e s - 1) ^ one p) in *. clearbody N F G U o t.
  clear - Hle Hl Hodd Hg Hu Hcross Hf Hn.
  (* 9·U·F <= o·U·F <= t·G·F <= 3·N·G <= 3·U·F *)
  assert (H1 : 9 * (U * F) <= o * U * F) by nia.
  assert (H2 : o * U * F <= t * G * F) by (apply Z.mul_le_mono_nonneg_r; lia).
  assert (H3 : t * F * G <= 3 * N * G) by (apply Z.mul_le_mono_nonneg_r; lia).
  assert (H4 : 0 < U * F) by (apply Z.mul_pos_pos; assumption).
  replace (t * G * F) with (t * F * G) in H2 by ring. replace (3 * N * G) with (3 * (N * G)) in H3 by ring. lia.
Qed.

Section Empty.
  Variable p : Z.
  Hypothesis p_positive : 1 <= p.
  Variable s : Z.
  Hypothesis s_negative : - bound p <= s < 0.

  Definition rise_column (always sentinel : nat) : column_pair := ([(always, bound p + s)], [(sentinel, one p)]).
  Definition empty_columns (always sentinel : nat) : list column_pair :=
    hide_columns p always sentinel ++ [rise_column always sentinel].

  Lemma rise_term : forall always sentinel own row,
    at_column own always = one p -> is_flag p (at_column row sentinel) ->
    column_term p own row (rise_column always sentinel) = if at_column row sentinel =? 0 then 0 else bound p + s.
  Proof.
    intros always sentinel own row Hown Hflag. unfold column_term, rise_column. simpl.
    rewrite !apply_single by assumption. rewrite Hown.
    pose proof (one_representable p p_positive) as Hone. pose proof (one_at_least_2 p p_positive).
    assert (Hrise : representable p (bound p + s)) by (unfold representable; lia).
    rewrite (one_multiply p (bound p + s)) by assumption. destruct Hflag as [-> | ->].
    - simpl. rewrite multiply_0_l, multiply_0_r by assumption. reflexivity.
    - rewrite (multiply_one p (one p)), multiply_one by assumption. destruct (Z.eqb_spec (one p) 0); [lia|reflexivity].
  Qed.

  (** The sentinel scores s, whatever it scored before; all other rows keep their scores. *)
  Theorem empty_score : forall columns always sentinel own row,
    at_column own always = one p -> is_flag p (at_column row sentinel) ->
    score p (columns ++ empty_columns always sentinel) own row
    = if at_column row sentinel =? 0 then score p columns own row else s.
  Proof.
    intros columns always sentinel own row Hown Hflag. unfold empty_columns. rewrite app_assoc, score_app.
    unfold sum_from. cbn [map fold_left]. rewrite hide_score, rise_term by assumption.
    pose proof (score_representable p columns own row p_positive) as Hs. unfold representable in Hs.
    destruct (at_column row sentinel =? 0); unfold add, clip; lia.
  Qed.

  Variable e : exponential p.
  Hypothesis s_is_faint : e s = ulp.

  (** A sum of numbers that are not negative: it never falls. *)
  Lemma sum_from_grows : forall (f : vector -> Z) rows start,
    0 <= start <= bound p -> (forall row, In row rows -> 0 <= f row) -> start <= sum_from p start (map f rows) <= bound p.
  Proof.
    intros f rows. induction rows as [|row rows IH]; intros start Hstart Hf; unfold sum_from in *; simpl; [lia|].
    pose proof (Hf row (or_introl eq_refl)). pose proof (IH (add p start (f row))) as H1.
    unfold add, clip in *. specialize (H1 ltac:(lia)). assert (forall r, In r rows -> 0 <= f r) by (intros; apply Hf; right; assumption).
    specialize (H1 H0). lia.
  Qed.

  Lemma sum_from_sees : forall (f : vector -> Z) rows start seen,
    0 <= start < bound p -> (forall row, In row rows -> 0 <= f row) -> In seen rows -> 0 < f seen ->
    start < sum_from p start (map f rows).
  Proof.
    intros f rows. induction rows as [|row rows IH]; intros start seen Hstart Hf Hin Hseen; [destruct Hin|].
    pose proof (Hf row (or_introl eq_refl)).
    assert (Hrest : forall r, In r rows -> 0 <= f r) by (intros; apply Hf; right; assumption).
    unfold sum_from in *. simpl.
    destruct (Z.eq_dec (f row) 0) as [E|E].
    - rewrite E. rewrite add_0_r by (unfold representable; lia).
      destruct Hin as [->|Hin]; [lia|]. apply (IH start seen); assumption.
    - pose proof (sum_from_grows f rows (add p start (f row)) ltac:(unfold add, clip; lia) Hrest) as Hg.
      unfold sum_from in Hg. unfold add, clip in *. lia.
  Qed.

  Definition share_of (z : Z) : Z := divide p ulp z.

  Lemma share_alone : share_of ulp = one p.
  Proof. apply divide_self; [assumption | unfold ulp; lia]. Qed.

  Lemma share_in_company : forall z, 2 <= z -> 0 <= 2 * share_of z <= one p.
  Proof.
    intros z Hz. pose proof (one_at_least_2 p p_positive) as HS. pose proof (one_below_bound p p_positive).
    unfold share_of, divide, ulp, nearest. rewrite Z.mul_1_l, Z.sgn_pos, Z.abs_eq, Z.mul_1_l by lia.
    assert (Heven : exists k, one p = 2 * k).
    { exists (2 ^ (p - 1)). unfold one. replace p with (1 + (p - 1)) at 1 by lia. rewrite Z.pow_add_r by lia. lia. }
    destruct Heven as [k Hk]. rewrite Hk in *.
    assert (H0 : 0 <= (2 * (2 * k) + z - 1) / (2 * z)) by (apply Z.div_pos; lia).
    assert (H1 : (2 * (2 * k) + z - 1) / (2 * z) < k + 1) by (apply Z.div_lt_upper_bound; nia).
    unfold clip. lia.
  Qed.

  (** No row but the sentinel has an exponential above 0. *)
  Definition sees_nothing (columns : list column_pair) (own : vector) (others : list vector) : bool :=
    forallb (fun row => weight_of p e columns own row =? 0) others.

  (** What arrives in the column [share]: 1 if the head sees nothing else, at most 1/2 if it does. No division by zero. *)
  Theorem empty_share : forall width columns value always sentinel share 
      (own : vector) (before : list vector) (row : vector) (after : list vector),
    fit width columns -> (always < width)%nat -> (sentinel < width)%nat -> (share < width)%nat ->
    length own = width -> at_column own always = one p ->
    (forall r, In r (before ++ row :: after) -> length r = width) ->
    at_column row sentinel = one p -> (forall r, In r (before ++ after) -> at_column r sentinel = 0) ->
    value share = [(sentinel, one p)] ->
    exists result,
      attend p e (head_of width (columns ++ empty_columns always sentinel) value) own (before ++ row :: after)
      = Some result
      /\ length result = width
      /\ if sees_nothing columns own (before ++ after) then at_column result share = one p
         else 0 <= 2 * at_column result share <= one p.
  Proof.
    intros width columns value always sentinel share own before row after Hfit Halways Hsentinel Hshare Hlength Hown
           Hrows Hrow Hothers Hvalue.
    pose proof (one_at_least_2 p p_positive) as HS. pose proof (bound_positive p p_positive) as HB.
    set (cs := columns ++ empty_columns always sentinel). set (rows := before ++ row :: after).
    assert (Hin : forall r, In r (before ++ after) -> In r rows).
    { intros r Hr. unfold rows. apply in_app_iff in Hr. apply in_app_iff. simpl. tauto. }
    assert (Hcs : fit width cs).
    { apply Forall_app. split; [assumption|]. repeat constructor; assumption. }
    assert (Hw : weight_of p e cs own row = ulp).
    { unfold weight_of, cs. rewrite empty_score by (try (right; assumption); assumption). rewrite Hrow.
      destruct (Z.eqb_spec (one p) 0); [lia | assumption]. }
    assert (Hw' : forall r, In r (before ++ after) -> weight_of p e cs own r = weight_of p e columns own r).
    { intros r Hr. unfold weight_of, cs. rewrite empty_score by (try (left; apply Hothers; assumption); assumption).
      rewrite (Hothers r Hr). reflexivity. }
    assert (Hpos : forall columns' r, 0 <= weight_of p e columns' own r).
    { intros columns' r. apply (exp_range p e). apply score_representable. assumption. }
    set (z := sum p (map (weight_of p e cs own) rows)).
    assert (Hz : if sees_nothing columns own (before ++ after) then z = ulp else 2 <= z).
    { unfold z, rows. rewrite map_app, sum_app. cbn [map].
      assert (Hbefore : forall r, In r before -> In r (before ++ after)) by (intros; apply in_app_iff; tauto).
      assert (Hafter : forall r, In r after -> In r (before ++ after)) by (intros; apply in_app_iff; tauto).
      change (sum_from p ?a (?x :: ?xs)) with (sum_from p (add p a x) xs). rewrite Hw.
      destruct (sees_nothing columns own (before ++ after)) eqn:E.
      - unfold sees_nothing in E. rewrite forallb_forall in E.
        assert (Hzero : forall r, In r (before ++ after) -> weight_of p e cs own r = 0).
        { intros r Hr. rewrite Hw' by assumption. apply Z.eqb_eq, E. assumption. }
        unfold sum. rewrite (sum_from_zeros p vector (weight_of p e cs own) before 0);
          [|apply zero_representable; assumption | intros; apply Hzero; auto].
        rewrite add_0_l by (unfold representable, ulp; lia).
        apply sum_from_zeros; [unfold representable, ulp; lia | intros; apply Hzero; auto].
      - assert (Hseen : exists r, In r (before ++ after) /\ 0 < weight_of p e cs own r).
        { unfold sees_nothing in E. apply not_true_iff_false in E. rewrite forallb_forall in E.
          destruct (existsb (fun r => 0 <? weight_of p e cs own r) (before ++ after)) eqn:E'.
          - apply existsb_exists in E'. destruct E' as [r [Hr Hlt]]. exists r. split; [assumption | apply Z.ltb_lt; assumption].
          - exfalso. apply E. intros r Hr. apply Z.eqb_eq. rewrite <- Hw' by assumption.
            apply Z.le_antisymm; [|apply Hpos]. apply Z.nlt_ge. intro Hlt.
            apply not_true_iff_false in E'. apply E', existsb_exists. exists r. split; [assumption|]. apply Z.ltb_lt; assumption. }
        destruct Hseen as [r [Hr Hlt]]. apply in_app_iff in Hr.
        pose proof (sum_from_grows (weight_of p e cs own) before 0 ltac:(lia) ltac:(intros; apply Hpos)) as Hb.
        unfold sum. destruct Hr as [Hr|Hr].
        + pose proof (sum_from_sees (weight_of p e cs own) before 0 r ltac:(lia) ltac:(intros; apply Hpos) Hr Hlt).
          pose proof (sum_from_grows (weight_of p e cs own) after
                        (add p (sum_from p 0 (map (weight_of p e cs own) before)) ulp)
                        ltac:(unfold add, clip, ulp; lia) ltac:(intros; apply Hpos)) as Ha.
          unfold add, clip, ulp in *. lia.
        + set (a := add p (sum_from p 0 (map (weight_of p e cs own) before)) ulp) in *.
          assert (Ha : 1 <= a <= bound p) by (unfold a, add, clip, ulp; lia).
          destruct (Z.eq_dec a (bound p)) as [Ea|Ea].
          * pose proof (sum_from_grows (weight_of p e cs own) after a ltac:(lia) ltac:(intros; apply Hpos)). lia.
          * pose proof (sum_from_sees (weight_of p e cs own) after a r ltac:(lia) ltac:(intros; apply Hpos) Hr Hlt). lia. }
    assert (Hnonzero : (z =? 0) = false).
    { apply Z.eqb_neq. destruct (sees_nothing _ _ _); unfold ulp in Hz; lia. }
    rewrite attend_head_of by assumption. unfold attend_by. fold rows. fold z. rewrite Hnonzero.
    eexists. split; [reflexivity|]. split; [simpl; rewrite !map_length, seq_length; reflexivity|].
    simpl wv. rewrite map_map, at_map_seq by assumption.
    assert (Hsum : sum p (map (fun r => multiply p (divide p (weight_of p e cs own r) z)
                                          (inner p r (dense width (value share)))) rows) = share_of z).
    { assert (Hv : forall r, In r rows -> inner p r (dense width (value share)) = multiply p (at_column r sentinel) (one p)).
      { intros r Hr. rewrite Hvalue, inner_dense by (try apply fits_single; try apply Hrows; assumption).
        apply apply_single. assumption. }
      assert (Hzero : forall r, In r (before ++ after) ->
                multiply p (divide p (weight_of p e cs own r) z) (inner p r (dense width (value share))) = 0).
      { intros r Hr. rewrite Hv, (Hothers r Hr) by auto. rewrite multiply_0_l, multiply_0_r by assumption. reflexivity. }
      assert (Hown' : multiply p (divide p (weight_of p e cs own row) z) (inner p row (dense width (value share))) = share_of z).
      { rewrite Hv by (unfold rows; apply in_app_iff; simpl; tauto). rewrite Hrow, Hw.
        rewrite (multiply_one p (one p)) by (try apply one_representable; assumption).
        apply multiply_one; [assumption | apply clip_representable; assumption]. }
      unfold rows. rewrite map_app, sum_app. cbn [map].
      change (sum_from p ?a (?x :: ?xs)) with (sum_from p (add p a x) xs). rewrite Hown'.
      unfold sum. rewrite (sum_from_zeros p vector _ before 0);
        [|apply zero_representable; assumption | intros; apply Hzero, in_app_iff; tauto].
      rewrite add_0_l by (apply clip_representable; assumption).
      apply sum_from_zeros; [apply clip_representable; assumption | intros; apply Hzero, in_app_iff; tauto]. }
    rewrite Hsum. destruct (sees_nothing columns own (before ++ after)).
    - rewrite Hz. apply share_alone.
    - apply share_in_company. assumption.
  Qed.

  (** The MLP: 1/2 is 2^(p-1) steps. *)
  Definition over_half (share : nat) : unit_pair := ([(share, one p)], - 2 ^ (p - 1)).
  Definition both_halves (first second : nat) : unit_pair := ([(first, one p); (second, one p)], 0).

  Theorem empty_mlp : forall width units output g share alone first second,
    Forall (fun u => fits width (fst u)) units -> length g = width -> (alone < width)%nat -> (first < second)%nat ->
    nth_error units first = Some (over_half share) -> nth_error units second = Some (over_half share) ->
    output alone = both_halves first second ->
    (at_column g share = one p -> at_column (mlp_output p (mlp_of width units output) g) alone = one p)
    /\ (0 <= 2 * at_column g share <= one p -> at_column (mlp_output p (mlp_of width units output) g) alone = 0).
  Proof.
    intros width units output g share alone first second Hfits Hlength Halone Hlt H1 H2 Hout.
    pose proof (one_at_least_2 p p_positive) as HS. pose proof (one_below_bound p p_positive) as HB.
    assert (Hhalf : one p = 2 * 2 ^ (p - 1)).
    { unfold one. replace p with (1 + (p - 1)) at 1 by lia. rewrite Z.pow_add_r by lia. reflexivity. }
    assert (Hlen : (second < length units)%nat) by (apply nth_error_Some; rewrite H2; discriminate).
    rewrite mlp_output_of; try assumption;
      [|rewrite Hout; split; simpl; repeat constructor; lia].
    rewrite Hout. set (h := unit_value p (over_half share) g).
    assert (Hunit : forall k, nth_error units k = Some (over_half share) ->
              at_column (map (fun u => unit_value p u g) units) k = h).
    { intros k Hk. assert (Hl : (k < length units)%nat) by (apply nth_error_Some; rewrite Hk; discriminate).
      rewrite at_map with (d := over_half share) by assumption. erewrite nth_error_nth by eassumption. reflexivity. }
    unfold unit_value at 1 3, both_halves, apply_form, sum, sum_from. cbn [map fold_left fst snd].
    rewrite !Hunit by assumption.
    assert (Hh : representable p h).
    { unfold h, unit_value, relu. pose proof (add_representable p (apply_form p (fst (over_half share)) g) (snd (over_half share)) p_positive).
      unfold representable in *. lia. }
    rewrite multiply_one by assumption.
    assert (Hvalue : representable p (at_column g share) -> h = Z.max 0 (add p (at_column g share) (- 2 ^ (p - 1)))).
    { intro Hr. unfold h, unit_value, over_half. simpl. rewrite apply_single, multiply_one by assumption. unfold relu. lia. }
    pose proof (Z.pow_pos_nonneg 2 (p - 1) ltac:(lia) ltac:(lia)).
    split; intro Hshare; (rewrite Hvalue by (unfold representable; lia)); unfold relu, add, clip; lia.
  Qed.

  (** One layer of one head and two units: alone = [the head sees no row but the sentinel]. *)
  Definition empty_layer (width : nat) (columns : list column_pair) (always sentinel share alone : nat) : layer := {|
    heads := [head_of width (columns ++ empty_columns always sentinel)
                      (fun target => if Nat.eqb target share then [(sentinel, one p)] else [])];
    feed_forward := mlp_of width [over_half share; over_half share]
                           (fun target => if Nat.eqb target alone then both_halves 0 1 else ([], 0)) |}.

  Theorem empty_decides : forall width columns always sentinel share alone 
      (own : vector) (before : list vector) (row : vector) (after : list vector),
    fit width columns -> (always < width)%nat -> (sentinel < width)%nat -> (share < width)%nat -> (alone < width)%nat ->
    share <> alone ->
    length own = width -> at_column own always = one p -> at_column own share = 0 -> at_column own alone = 0 ->
    (forall r, In r (before ++ row :: after) -> length r = width) ->
    at_column row sentinel = one p -> (forall r, In r (before ++ after) -> at_column r sentinel = 0) ->
    exists result,
      layer_row p e (empty_layer width columns always sentinel share alone) (before ++ row :: after) own = Some result
      /\ at_column result alone = flag p (sees_nothing columns own (before ++ after)).
  Proof.
    intros width columns always sentinel share alone own before row after Hfit Halways Hsentinel Hshare Halone Hdiffer
           Hlength Hown Hown_share Hown_alone Hrows Hrow Hothers.
    pose proof (one_at_least_2 p p_positive) as HS. pose proof (one_below_bound p p_positive) as HB.
    set (value := fun target => if Nat.eqb target share then [(sentinel, one p)] else []).
    destruct (empty_share width columns value always sentinel share own before row after) as [given [Hgiven [Hlen Hat]]];
      try assumption; [unfold value; rewrite Nat.eqb_refl; reflexivity|].
    assert (Hzero : at_column given alone = 0).
    { rewrite attend_head_of in Hgiven;
        [| assumption | apply Forall_app; split; [assumption | repeat constructor; assumption] | assumption | assumption].
      unfold attend_by in Hgiven. destruct (_ =? 0); [discriminate|]. injection Hgiven as <-. simpl wv.
      rewrite map_map, at_map_seq by assumption. unfold value at 1.
      destruct (Nat.eqb_spec alone share); [congruence|].
      apply sum_from_zeros; [apply zero_representable; assumption|]. intros r Hr.
      rewrite inner_dense by (try apply fits_nil; try apply Hrows; assumption). apply multiply_0_r. assumption. }
    assert (Hall : forall r, In r [given] -> length r = length own) by (intros r [<-|[]]; congruence).
    rewrite layer_row_of_heads with (results := [given]); [|repeat constructor; assumption].
    eexists. split; [reflexivity|].
    set (g := attended p own [given]).
    assert (Hg : length g = width) by (unfold g; rewrite attended_length; assumption).
    assert (Hsingle : forall k, (k < width)%nat -> at_column own k = 0 -> representable p (at_column given k) ->
              at_column g k = at_column given k).
    { intros k Hk Hk0 Hr. unfold g. rewrite at_attended by (try assumption; congruence). rewrite Hk0.
      unfold sum, sum_from. simpl. rewrite add_0_l by assumption. apply add_0_r. assumption. }
    assert (Hshare' : at_column g share = at_column given share).
    { apply Hsingle; try assumption. unfold representable. destruct (sees_nothing _ _ _); lia. }
    assert (Halone' : at_column g alone = 0).
    { rewrite Hsingle; try assumption. rewrite Hzero. apply zero_representable. assumption. }
    set (m := feed_forward _).
    assert (Hm : length (mlp_output p m g) = width).
    { unfold mlp_output, m, plus, zip_with, times. simpl. rewrite map_length, map_length, combine_length, !map_length, seq_length. lia. }
    rewrite at_plus by (rewrite ?Hm, ?Hg; lia). rewrite Halone'.
    destruct (empty_mlp width [over_half share; over_half share]
                (fun target => if Nat.eqb target alone then both_halves 0 1 else ([], 0)) g share alone 0 1)
      as [Hyes Hno]; try assumption; try reflexivity; try lia.
    - repeat constructor; assumption.
    - rewrite Nat.eqb_refl. reflexivity.
    - unfold m. simpl feed_forward. rewrite Hshare' in *.
      destruct (sees_nothing columns own (before ++ after)); simpl flag; [rewrite Hyes | rewrite Hno]; try assumption.
      + apply add_0_l, one_representable. assumption.
      + apply add_0_l, zero_representable. assumption.
  Qed.
End Empty.

(** With e^x itself, for every p: s is the least number whose exponential is not 0. *)
Corollary empty_decides_with_e_to_the_x : forall p (Hp : 1 <= p) f (Hf : correctly_rounded p f) s, faintest p f s ->
  forall width columns always sentinel share alone 
      (own : vector) (before : list vector) (row : vector) (after : list vector),
    fit width columns -> (always < width)%nat -> (sentinel < width)%nat -> (share < width)%nat -> (alone < width)%nat ->
    share <> alone ->
    length own = width -> at_column own always = one p -> at_column own share = 0 -> at_column own alone = 0 ->
    (forall r, In r (before ++ row :: after) -> length r = width) ->
    at_column row sentinel = one p -> (forall r, In r (before ++ after) -> at_column r sentinel = 0) ->
    let e := exponential_of_rounding p Hp f Hf in
    exists result,
      layer_row p e (empty_layer p s width columns always sentinel share alone) (before ++ row :: after) own = Some result
      /\ at_column result alone = flag p (sees_nothing p e columns own (before ++ after)).
Proof.
  intros p Hp f Hf s Hs. destruct (faintest_is_ulp p f s Hp Hf Hs) as [Hulp Hneg]. destruct Hs as [Hs _].
  intros. apply empty_decides; try assumption. unfold representable in Hs. lia.
Qed.
