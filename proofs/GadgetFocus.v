(** FOCUS (a, b): EQ with [B/2] for B, all of it two times for p >= 2, three times for p = 1.

    After any columns before it, keys whose code b is not the query's code a are invisible, and the exponentials of
    the others are what they were: a score above 2^(p-1) becomes 2^(p-1), where exp is B already. *)

From Coq Require Import ZArith Lia List Bool.
From Unmask Require Import Numbers Sums Exponential Layer Forms Attention Match.
Import ListNotations.
Open Scope Z_scope.
Local Arguments Z.mul : simpl never.

Section Focus.
  Variable p : Z.
  Hypothesis p_positive : 1 <= p.

  Definition focus_columns (copies always : nat) (a b : list nat) : list column_pair :=
    concat (repeat (match_columns p (half_bound p) always a b) copies).

  Definition enough_copies (copies : nat) : Prop := (copies = 2%nat /\ 2 <= p) \/ copies = 3%nat.

  (** Scores with the same exponential: equal, or both at least 2^(p-1). *)
  Definition same_exponential (s r : Z) : Prop := r = s \/ (top p <= s /\ top p <= r).

  Lemma twice_p_at_most_one : 2 * p <= one p.
  Proof.
    unfold one. apply (Zlt_lower_bound_ind (fun q => 2 * q <= 2 ^ q) 1); [|assumption].
    intros q IH Hq. destruct (Z.eq_dec q 1) as [->|]; [reflexivity|].
    assert (H : 2 * (q - 1) <= 2 ^ (q - 1)) by (apply IH; lia).
    assert (2 <= 2 ^ (q - 1)) by (change 2 with (2 ^ 1) at 1; apply Z.pow_le_mono_r; lia).
    replace q with (1 + (q - 1)) at 2 by lia. rewrite Z.pow_add_r by lia. lia.
  Qed.

  Lemma top_saturated : forall x, top p <= x -> saturated p x.
  Proof.
    intros x Hx. unfold saturated. pose proof twice_p_at_most_one. pose proof (twice_top p p_positive).
    pose proof (bound_is_square p p_positive). pose proof (one_at_least_2 p p_positive). nia.
  Qed.

  Lemma same_exponential_exp : forall (e : exponential p) s r,
    representable p s -> representable p r -> same_exponential s r -> e r = e s.
  Proof.
    intros e s r Hs Hr [->|[H1 H2]]; [reflexivity|].
    rewrite !exp_saturates; try assumption; try reflexivity; apply top_saturated; assumption.
  Qed.

  Lemma bits_that_agree : forall own row bits s, representable p s ->
    forallb (fun bit => at_column own (fst bit) =? at_column row (snd bit)) bits = true ->
    same_exponential s (sum_from p s (flat_map (bit_terms (half_bound p) own row) bits)).
  Proof.
    intros own row bits. pose proof (half_of_bound p p_positive). pose proof (twice_top p p_positive).
    pose proof (bound_positive p p_positive).
    induction bits as [|bit bits IH]; intros s Hs Hall; [left; reflexivity|].
    simpl in Hall. apply andb_true_iff in Hall. destruct Hall as [Hbit Hall].
    unfold sum_from in *. simpl. rewrite Hbit.
    set (s' := add p (add p s (half_bound p)) (- half_bound p)).
    assert (Hs' : representable p s') by (apply add_representable; assumption).
    assert (Hss : same_exponential s s') by (unfold same_exponential, s', add, clip in *; unfold representable in Hs;
      lia).
    specialize (IH s' Hs' Hall). unfold same_exponential in *. lia.
  Qed.

  Lemma bits_never_raise : forall own row bits s, representable p s ->
    sum_from p s (flat_map (bit_terms (half_bound p) own row) bits) <= s.
  Proof.
    intros own row bits. pose proof (half_of_bound p p_positive). pose proof (bound_positive p p_positive).
    induction bits as [|bit bits IH]; intros s Hs; [simpl; lia|].
    unfold sum_from in *. simpl. set (s' := add p (add p s _) _).
    assert (Hs' : representable p s') by (apply add_representable; assumption).
    assert (Hss : s' <= s) by (unfold s', add, clip; unfold representable in Hs; destruct (_ =? _); lia).
    specialize (IH s' Hs'). lia.
  Qed.

  Lemma bits_that_differ : forall own row bits s, representable p s ->
    forallb (fun bit => at_column own (fst bit) =? at_column row (snd bit)) bits = false ->
    sum_from p s (flat_map (bit_terms (half_bound p) own row) bits) <= Z.max (- bound p) (s - 2 * half_bound p).
  Proof.
    intros own row bits. pose proof (half_of_bound p p_positive). pose proof (bound_positive p p_positive).
    induction bits as [|bit bits IH]; intros s Hs Hall; [discriminate|].
    simpl in Hall. unfold sum_from in *. simpl. set (s' := add p (add p s _) _).
    assert (Hs' : representable p s') by (apply add_representable; assumption).
    destruct (at_column own (fst bit) =? at_column row (snd bit)) eqn:E.
    - specialize (IH s' Hs' Hall). assert (s' <= s) by (unfold s', add, clip; unfold representable in Hs;
        clear - Hs H H0; lia). clearbody s'. lia.
    - pose proof (bits_never_raise own row bits s' Hs') as Hraise. unfold sum_from in Hraise.
      assert (s' <= Z.max (- bound p) (s - 2 * half_bound p))
        by (unfold s', add, clip; unfold representable in Hs; clear - Hs H H0; lia).
      clearbody s'. lia.
  Qed.

  Lemma focus_terms : forall copies always a b own row,
    at_column own always = one p -> at_column row always = one p -> is_code p own a -> is_code p row b ->
    map (column_term p own row) (focus_columns copies always a b)
    = concat (repeat (flat_map (bit_terms (half_bound p) own row) (combine a b)) copies).
  Proof.
    intros copies always a b own row Hown Hrow Ha Hb. unfold focus_columns.
    pose proof (half_of_bound p p_positive). pose proof (bound_positive p p_positive).
    induction copies as [|copies IH]; simpl; [reflexivity|].
    rewrite map_app, IH, match_terms by (try assumption; unfold representable; lia). reflexivity.
  Qed.

  Theorem focus_score_agree : forall copies columns always a b own row,
    at_column own always = one p -> at_column row always = one p -> is_code p own a -> is_code p row b ->
    agree a b own row = true ->
    same_exponential (score p columns own row) (score p (columns ++ focus_columns copies always a b) own row).
  Proof.
    intros copies columns always a b own row Hown Hrow Ha Hb Hagree.
    rewrite score_app, focus_terms by assumption.
    generalize (score_representable p columns own row p_positive). generalize (score p columns own row).
    induction copies as [|copies IH]; intros s Hs; simpl; [left; reflexivity|].
    rewrite sum_from_app. pose proof (bits_that_agree own row (combine a b) s Hs Hagree) as H1.
    set (s' := sum_from p s _) in *. assert (Hs' : representable p s') by (apply sum_from_representable; assumption).
    specialize (IH s' Hs'). unfold same_exponential in *. lia.
  Qed.

  Theorem focus_score_differ : forall copies columns always a b own row,
    enough_copies copies ->
    at_column own always = one p -> at_column row always = one p -> is_code p own a -> is_code p row b ->
    agree a b own row = false ->
    vanished p (score p (columns ++ focus_columns copies always a b) own row).
  Proof.
    intros copies columns always a b own row Hcopies Hown Hrow Ha Hb Hagree.
    rewrite score_app, focus_terms by assumption.
    pose proof (score_representable p columns own row p_positive) as H0.
    set (s0 := score p columns own row) in *. set (bits := flat_map _ _).
    pose proof (half_of_bound p p_positive) as Hhalf. pose proof (bound_positive p p_positive) as HB.
    pose proof (one_at_least_2 p p_positive). pose proof (p_below_one p p_positive).
    pose proof (bound_is_square p p_positive) as Hsquare.
    assert (drop : forall s, representable p s ->
              sum_from p s bits <= Z.max (- bound p) (s - 2 * half_bound p) /\ representable p (sum_from p s bits)).
    { intros s Hs. split; [apply bits_that_differ; assumption | apply sum_from_representable; assumption]. }
    destruct (drop s0 H0) as [L1 R1]. destruct (drop _ R1) as [L2 R2]. destruct (drop _ R2) as [L3 _].
    unfold representable in H0.
    destruct Hcopies as [[-> Hp]| ->]; simpl; rewrite !sum_from_app; unfold vanished.
    - simpl. pose proof (one_at_least_4 p Hp). nia.
    - simpl. pose proof (bound_vanished p p_positive) as Hv. unfold vanished in Hv. nia.
  Qed.

  Theorem focus_restricts : forall (e : exponential p) copies width columns value always a b
      (own : vector) (rows : list vector),
    enough_copies copies ->
    fit width columns -> (always < width)%nat ->
    Forall (fun k => (k < width)%nat) a -> Forall (fun k => (k < width)%nat) b ->
    length own = width -> at_column own always = one p -> is_code p own a ->
    (forall row, In row rows -> length row = width /\ at_column row always = one p /\ is_code p row b) ->
    attend p e (head_of width (columns ++ focus_columns copies always a b) value) own rows
    = attend p e (head_of width columns value) own (filter (agree a b own) rows).
  Proof.
    intros e copies width columns value always a b own rows Hcopies Hfit Halways Ha Hb Hlength Hown Hcode Hrows.
    apply attend_visible_rows; try assumption.
    - apply Forall_app. split; [assumption|]. unfold focus_columns. clear Hcopies.
      induction copies as [|copies IH]; simpl; [constructor|].
      apply Forall_app. split; [apply match_fits; assumption | assumption].
    - intros row Hrow. apply Hrows. assumption.
    - intros row Hrow. destruct (Hrows row Hrow) as [_ [Hr Hk]]. unfold weight_of.
      destruct (agree a b own row) eqn:E.
      + apply same_exponential_exp; try (apply score_representable; assumption). apply focus_score_agree; assumption.
      + apply exp_vanishes; [apply score_representable; assumption|]. apply focus_score_differ; assumption.
  Qed.
End Focus.
