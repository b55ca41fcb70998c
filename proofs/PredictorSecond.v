(** The predictor's second layer: from the features that a product lacks to the product, or to the verdict on it. *)

From Coq Require Import ZArith Lia List Bool Arith Sorting.Sorted.
From Unmask Require Import Numbers Flags Sums Exponential Layer Forms LayerRows GadgetLogic.
From Unmask Require Import Diffusion Programs Monoid Vocabulary Coding Predictor PredictorRows PredictorFirst.
Import ListNotations.
Open Scope Z_scope.

(** A sum of flags of which at most one is up. *)
Lemma sum_of_exclusive_flags : forall p (A : Type) (test : A -> bool) l, 1 <= p -> (length (filter test l) <= 1)%nat ->
  sum p (map (fun x => flag p (test x)) l) = flag p (negb (length (filter test l) =? 0)%nat).
Proof.
  intros p A test l Hp. pose proof (zero_representable p Hp) as H0. pose proof (one_representable p Hp) as H1.
  assert (none_up : forall l s, representable p s -> length (filter test l) = 0%nat ->
            sum_from p s (map (fun x => flag p (test x)) l) = s).
  { intros l' s Hs Hl. apply sum_from_zeros; [assumption|]. intros x Hx. destruct (test x) eqn:E; [|reflexivity].
    assert (In x (filter test l')) by (apply filter_In; tauto).
    destruct (filter test l'); [contradiction | discriminate]. }
  unfold sum. induction l as [|x l IH]; intro H; [reflexivity|]. cbn [filter] in *. cbn [map].
  change (sum_from p 0 (flag p (test x) :: map (fun x => flag p (test x)) l))
    with (sum_from p (add p 0 (flag p (test x))) (map (fun x => flag p (test x)) l)).
  destruct (test x); cbn [length] in *.
  - rewrite add_0_l by assumption. apply none_up; [assumption | lia].
  - rewrite add_0_l by assumption. apply IH. assumption.
Qed.

Section Second.
  Variables (p : Z) (m : monoid) (c : coding) (rows : nat) (waits : bool).
  Variable e : exponential p.
  Hypothesis p_at_least_2 : 2 <= p.
  Hypothesis laws : lawful m.
  Hypothesis coded : codes m c.

  Let width := width m c rows.
  Let p_positive : 1 <= p.
  Proof. lia. Qed.

  Definition is_last (i : nat) : bool := (i =? rows - 1)%nat.

  (** What the second layer makes of a row whose product is x. *)
  Definition recognised (i x : nat) (r : vector) : Prop :=
    at_column r always = one p
    /\ at_column r last_row = flag p (is_last i)
    /\ at_column r inner_row = flag p (negb (is_last i))
    /\ at_column r (ready_column c rows) = one p
    /\ (forall s a, (a < size m)%nat ->
          at_column r (product_copy m c rows s + a) = flag p (negb (is_last i) && (a =? x)%nat))
    /\ (forall j, (j < 2)%nat -> at_column r (accepted m c rows + j) = flag p (is_last i && accepting m x))
    /\ (forall j, (j < 2)%nat -> at_column r (rejected m c rows + j) = flag p (is_last i && negb (accepting m x))).

  Section Row.
    Variables (i x : nat) (r : vector).
    Hypothesis x_is_element : (x < size m)%nat.
    Hypothesis row_length : length r = width.
    Hypothesis row_multiplied : multiplied p m c rows waits i x r.

    Let g : vector := attended p r [].

    Lemma g_length : length g = width.
    Proof. unfold g. rewrite attended_length; [assumption | intros ? []]. Qed.

    Lemma at_g : forall k, (k < width)%nat -> representable p (at_column r k) -> at_column g k = at_column r k.
    Proof.
      intros k Hk Hr. unfold g. rewrite at_attended; [| intros ? [] | lia]. apply add_0_l. assumption.
    Qed.

    Lemma known_columns :
      at_column g always = one p /\ at_column g last_row = flag p (is_last i)
      /\ at_column g inner_row = flag p (negb (is_last i))
      /\ Forall (fun k => at_column g k = 0) (waiting c rows waits)
      /\ at_column g (ready_column c rows) = one p
      /\ (forall f, (f < left_features c)%nat -> at_column g (missing c rows + f)
        = flag p (negb (member f (result_of c x))))
      /\ (forall k, (product_copy m c rows left_side <= k < width)%nat -> at_column g k = 0).
    Proof.
      destruct row_multiplied as [H1 [H2 [H3 [H4 [H5 [H6 H7]]]]]]. fold (is_last i) in *.
      pose proof (one_representable p p_positive) as R1. pose proof (zero_representable p p_positive) as R0.
      assert (R : forall b, representable p (flag p b)) by (intro; apply flag_representable; assumption).
      repeat split.
      - rewrite at_g; [assumption | unfold width; columns; lia | rewrite H1; assumption].
      - rewrite at_g; [assumption | unfold width; columns; lia | rewrite H2; auto].
      - rewrite at_g; [assumption | unfold width; columns; lia | rewrite H3; auto].
      - rewrite Forall_forall in *. intros k Hk. specialize (H4 k Hk).
        assert (Hrange : (factors_end c rows <= k < factors_end c rows + 2)%nat).
        { unfold waiting in Hk. destruct waits; cbn [In] in Hk; [columns; lia | destruct Hk]. }
        rewrite at_g; [assumption | unfold width; columns; lia | rewrite H4; assumption].
      - rewrite at_g; [assumption | unfold width; columns; lia | rewrite H5; assumption].
      - intros f Hf. specialize (H6 f Hf). rewrite at_g; [assumption | unfold width; columns; lia | rewrite H6; auto].
      - intros k Hk. specialize (H7 k Hk). rewrite at_g; [assumption | lia | rewrite H7; assumption].
    Qed.

    Lemma none_app : forall l l', none g (l ++ l') = none g l && none g l'.
    Proof. intros. apply forallb_app. Qed.

    (** Nothing is missing of a list of features if all of them are the product's. *)
    Lemma none_missing : forall l, Forall (fun f => (f < left_features c)%nat) l ->
      none g (lacks c rows l) = forallb (fun f => member f (result_of c x)) l.
    Proof.
      intros l Hl. destruct known_columns as [_ [_ [_ [_ [_ [H6 _]]]]]]. unfold none, lacks. rewrite forallb_map.
      apply forallb_ext_in. intros f Hf. rewrite Forall_forall in Hl. rewrite H6 by auto.
      rewrite flag_is_zero by assumption. apply negb_involutive.
    Qed.

    Lemma flags_missing : forall l, Forall (fun f => (f < left_features c)%nat) l -> flags p g (lacks c rows l).
    Proof.
      intros l Hl. destruct known_columns as [_ [_ [_ [_ [_ [H6 _]]]]]]. apply Forall_forall. intros k Hk.
      apply in_map_iff in Hk. destruct Hk as [f [<- Hf]]. rewrite Forall_forall in Hl. rewrite H6 by auto.
      apply flag_is_flag.
    Qed.

    Lemma element_value : forall a, (a < size m)%nat ->
      unit_value p (element_unit p c rows a) g = flag p (negb (is_last i) && (a =? x)%nat).
    Proof.
      intros a Ha. destruct known_columns as [_ [H2 [_ [_ [H5 _]]]]].
      pose proof (result_increasing m c coded a Ha) as [_ Hb].
      unfold element_unit. rewrite and_is_and; [|assumption|].
      - rewrite H5, Z.eqb_refl, none_app, none_missing by assumption.
        rewrite (elements_are_known m c coded) by assumption.
        unfold none. simpl. rewrite H2, flag_is_zero by assumption. rewrite andb_true_r.
        destruct (negb (is_last i) && (a =? x)%nat); reflexivity.
      - constructor; [rewrite H2; apply flag_is_flag|]. constructor; [rewrite H5; right; reflexivity|].
        apply flags_missing. assumption.
    Qed.

    Lemma filter_sides : forall (test : nat -> bool) y l, ~ In y l ->
      forallb test (filter (fun f => f <? y)%nat l) && forallb test (filter (fun f => y <? f)%nat l) = forallb test l.
    Proof.
      intros test y l. induction l as [|f l IH]; intro H; [reflexivity|]. simpl in H. simpl.
      rewrite <- IH by tauto. destruct (Nat.ltb_spec f y), (Nat.ltb_spec y f); try lia; simpl.
      - rewrite andb_assoc. reflexivity.
      - rewrite !andb_assoc. f_equal. apply andb_comm.
    Qed.

    Lemma verdict_value : forall d, disjunct_fits (left_features c) d ->
      unit_value p (verdict_unit p c rows waits d) g = flag p (is_last i && disjunct_holds c x d).
    Proof.
      intros d [[_ Hb] Hl]. destruct known_columns as [_ [_ [H3 [H4 [H5 [H6 _]]]]]].
      destruct (all_zero_none p g (waiting c rows waits) H4) as [Fw Nw].
      unfold verdict_unit, disjunct_holds. destruct (lacking d) as [y|].
      - destruct Hl as [Hy Hout].
        assert (Hlow : Forall (fun f => (f < left_features c)%nat) (filter (fun f => f <? y)%nat (present d))).
        { rewrite Forall_forall in *. intros f Hf. apply filter_In in Hf. apply Hb. tauto. }
        assert (Hhigh : Forall (fun f => (f < left_features c)%nat) (filter (fun f => y <? f)%nat (present d))).
        { rewrite Forall_forall in *. intros f Hf. apply filter_In in Hf. apply Hb. tauto. }
        rewrite and_is_and; [|assumption|].
        + rewrite H6 by assumption. rewrite flag_is_one by assumption.
          change (inner_row :: waiting c rows waits ++ lacks c rows (filter (fun f => f <? y)%nat (present d)))
            with ([inner_row] ++ waiting c rows waits ++ lacks c rows (filter (fun f => f <? y)%nat (present d))).
          rewrite !none_app, !none_missing, Nw by assumption. unfold none. simpl forallb at 1.
          rewrite H3, flag_is_zero, negb_involutive by assumption. rewrite andb_true_r. cbn [andb].
          rewrite <- (filter_sides _ y (present d)) by assumption.
          destruct (is_last i), (member y (result_of c x)); cbn [andb negb];
            rewrite ?andb_false_r, ?andb_true_r; try reflexivity; destruct (_ && _)%bool; reflexivity.
        + apply Forall_app. split.
          * constructor; [rewrite H3; apply flag_is_flag|]. apply Forall_app.
            split; [assumption | apply flags_missing; assumption].
          * constructor; [rewrite H6 by assumption; apply flag_is_flag | apply flags_missing; assumption].
      - rewrite and_is_and; [|assumption|].
        + rewrite H5, Z.eqb_refl.
          change (inner_row :: waiting c rows waits) with ([inner_row] ++ waiting c rows waits).
          rewrite !none_app, none_missing, Nw by assumption. unfold none. simpl forallb at 1.
          rewrite H3, flag_is_zero, negb_involutive by assumption. rewrite !andb_true_r. cbn [andb].
          destruct (is_last i && _)%bool; reflexivity.
        + simpl. constructor; [rewrite H3; apply flag_is_flag|]. apply Forall_app. split; [assumption|].
          constructor; [rewrite H5; right; reflexivity | apply flags_missing; assumption].
    Qed.

    Let units : list unit_pair :=
      map (element_unit p c rows) (seq 0 (size m)) ++ map (verdict_unit p c rows waits) (accept_when c)
      ++ map (verdict_unit p c rows waits) (reject_when c).

    Lemma fst_negative : forall l, map fst (negative p l) = l.
    Proof. intro l. unfold negative. rewrite map_map. apply map_id. Qed.

    Lemma fits_and : forall before literal after,
      StronglySorted lt (before ++ literal :: after) ->
      Forall (fun k => (k < width)%nat) (before ++ literal :: after) ->
      fits width (fst (and_unit p before literal after)).
    Proof.
      intros before literal after Hs Hb. unfold fits, and_unit. simpl. rewrite map_app. simpl. rewrite !fst_negative.
      split; assumption.
    Qed.

    Lemma sorted_app : forall l l', StronglySorted lt l -> StronglySorted lt l' ->
      (forall a b, In a l -> In b l' -> (a < b)%nat) -> StronglySorted lt (l ++ l').
    Proof.
      intros l l' H H' Hlt. induction H as [|a l Hl IH Ha]; simpl; [assumption|]. constructor.
      - apply IH. intros. apply Hlt; [right|]; assumption.
      - apply Forall_app. split; [assumption|]. apply Forall_forall. intros b Hb.
        apply Hlt; [left; reflexivity | assumption].
    Qed.

    Lemma sorted_lacks : forall l, StronglySorted lt l -> StronglySorted lt (lacks c rows l).
    Proof.
      intros l H. unfold lacks. induction H as [|f l Hl IH Hf]; cbn [map]; [constructor|]. constructor; [assumption|].
      apply Forall_forall. intros k Hk. apply in_map_iff in Hk. destruct Hk as [f' [<- Hf']].
      rewrite Forall_forall in Hf. specialize (Hf f' Hf'). lia.
    Qed.

    Lemma in_lacks : forall l k, Forall (fun f => (f < left_features c)%nat) l -> In k (lacks c rows l) ->
      (missing c rows <= k < missing c rows + left_features c)%nat /\ In (k - missing c rows)%nat l.
    Proof.
      intros l k Hl Hk. apply in_map_iff in Hk. destruct Hk as [f [<- Hf]]. rewrite Forall_forall in Hl.
      specialize (Hl f Hf). replace (missing c rows + f - missing c rows)%nat with f by lia. split; [lia | assumption].
    Qed.

    Lemma in_waiting : forall k, In k (waiting c rows waits) -> (factors_end c rows <= k < factors_end c rows + 2)%nat.
    Proof. intros k Hk. unfold waiting in Hk. destruct waits; cbn [In] in Hk; [columns; lia | destruct Hk]. Qed.

    Lemma sorted_waiting : StronglySorted lt (inner_row :: waiting c rows waits).
    Proof.
      unfold waiting. destruct waits; repeat (apply SSorted_cons || apply SSorted_nil || apply Forall_cons || apply
        Forall_nil);
        columns; lia.
    Qed.

    Lemma verdict_fits : forall d, disjunct_fits (left_features c) d ->
      fits width (fst (verdict_unit p c rows waits d)).
    Proof.
      intros d [[Hs Hb] Hl]. unfold verdict_unit. destruct (lacking d) as [y|].
      - destruct Hl as [Hy Hout].
        assert (Hlow : Forall (fun f => (f < left_features c)%nat) (filter (fun f => f <? y)%nat (present d))).
        { rewrite Forall_forall in *. intros f Hf. apply filter_In in Hf. apply Hb. tauto. }
        assert (Hhigh : Forall (fun f => (f < left_features c)%nat) (filter (fun f => y <? f)%nat (present d))).
        { rewrite Forall_forall in *. intros f Hf. apply filter_In in Hf. apply Hb. tauto. }
        assert (below : forall k, In k (lacks c rows (filter (fun f => f <? y)%nat (present d))) ->
                                  (missing c rows <= k < missing c rows + y)%nat).
        { intros k Hk. destruct (in_lacks _ _ Hlow Hk) as [Hr Hf]. apply filter_In in Hf. destruct Hf as [_ Hf].
          apply Nat.ltb_lt in Hf. lia. }
        assert (above : forall k, In k (lacks c rows (filter (fun f => y <? f)%nat (present d))) ->
                                  (missing c rows + y < k < missing c rows + left_features c)%nat).
        { intros k Hk. destruct (in_lacks _ _ Hhigh Hk) as [Hr Hf]. apply filter_In in Hf. destruct Hf as [_ Hf].
          apply Nat.ltb_lt in Hf. lia. }
        apply fits_and.
        + change (inner_row :: waiting c rows waits ++ lacks c rows (filter (fun f => f <? y)%nat (present d)))
            with ((inner_row :: waiting c rows waits) ++ lacks c rows (filter (fun f => f <? y)%nat (present d))).
          rewrite <- app_assoc. apply sorted_app; [apply sorted_waiting | apply sorted_app |].
          * apply sorted_lacks, sorted_filter. assumption.
          * constructor; [apply sorted_lacks, sorted_filter; assumption|]. apply Forall_forall. intros k Hk.
            specialize (above k Hk). lia.
          * intros a b Ha [<-|Hb']; [specialize (below a Ha) | specialize (below a Ha); specialize (above b Hb')]; lia.
          * intros a b Ha Hb'. assert (Hb2 : (missing c rows <= b)%nat).
            { apply in_app_iff in Hb'. destruct Hb' as [Hb'|[<-|Hb']];
                [specialize (below b Hb') | | specialize (above b Hb')]; lia. }
            destruct Ha as [<-|Ha]; [columns; lia|]. pose proof (in_waiting a Ha). columns; lia.
        + apply Forall_forall. intros k Hk. assert (Hw : (missing c rows + left_features c <= width)%nat)
            by (unfold width; columns; lia).
          cbn [app In] in Hk. rewrite !in_app_iff in Hk. cbn [In] in Hk.
          destruct Hk as [<-|[[Hk|Hk]|[<-|Hk]]]; [unfold width; columns; lia | pose proof (in_waiting k Hk);
            unfold width; columns; lia
            | specialize (below k Hk); lia | lia | specialize (above k Hk); lia].
      - apply fits_and.
        + apply sorted_app; [apply sorted_waiting | constructor; [apply sorted_lacks; assumption|] |].
          * apply Forall_forall. intros k Hk. destruct (in_lacks _ _ Hb Hk) as [Hr _]. columns; lia.
          * intros a b Ha Hb'. assert (Hb2 : (ready_column c rows <= b)%nat).
            { destruct Hb' as [<-|Hb']; [lia|]. destruct (in_lacks _ _ Hb Hb') as [Hr _]. columns; lia. }
            destruct Ha as [<-|Ha]; [columns; lia|]. pose proof (in_waiting a Ha). columns; lia.
        + apply Forall_forall. intros k Hk. cbn [app In] in Hk. rewrite !in_app_iff in Hk. cbn [In] in Hk.
          destruct Hk as [<-|[Hk|[<-|Hk]]]; [unfold width; columns; lia | pose proof (in_waiting k Hk); unfold width;
            columns; lia
            | unfold width; columns; lia | destruct (in_lacks _ _ Hb Hk) as [Hr _]; unfold width; columns; lia].
    Qed.

    Lemma units_fit : Forall (fun u => fits width (fst u)) units.
    Proof.
      apply Forall_app. split.
      - apply Forall_forall. intros u Hu. apply in_map_iff in Hu. destruct Hu as [a [<- Ha]]. apply in_seq in Ha.
        pose proof (result_increasing m c coded a ltac:(lia)) as [Hs Hb]. apply fits_and.
        + cbn [app]. constructor; [constructor; [apply sorted_lacks; assumption|]|].
          * apply Forall_forall. intros k Hk. destruct (in_lacks _ _ Hb Hk) as [Hr _]. columns; lia.
          * constructor; [columns; lia|]. apply Forall_forall. intros k Hk. destruct (in_lacks _ _ Hb Hk) as [Hr _].
            columns; lia.
        + cbn [app]. constructor; [unfold width; columns; lia|]. constructor; [unfold width; columns; lia|].
          apply Forall_forall. intros k Hk. destruct (in_lacks _ _ Hb Hk) as [Hr _]. unfold width; columns; lia.
      - pose proof (verdicts_fit m c coded) as Hv. apply Forall_app in Hv. destruct Hv as [Hv1 Hv2].
        apply Forall_app. split; apply Forall_forall; intros u Hu; apply in_map_iff in Hu; destruct Hu as [d [<- Hd]];
          apply verdict_fits; rewrite Forall_forall in *; auto.
    Qed.

    Let hv : vector := map (fun u => unit_value p u g) units.

    Lemma hidden_values : hv
      = map (fun a => flag p (negb (is_last i) && (a =? x)%nat)) (seq 0 (size m))
        ++ map (fun d => flag p (is_last i && disjunct_holds c x d)) (accept_when c)
        ++ map (fun d => flag p (is_last i && disjunct_holds c x d)) (reject_when c).
    Proof.
      pose proof (verdicts_fit m c coded) as Hv. apply Forall_app in Hv. destruct Hv as [Hv1 Hv2].
      rewrite Forall_forall in *.
      unfold hv, units. rewrite !map_app, !map_map. f_equal; [|f_equal].
      - apply map_ext_in. intros a Ha. apply in_seq in Ha. apply element_value. lia.
      - apply map_ext_in. intros d Hd. apply verdict_value. auto.
      - apply map_ext_in. intros d Hd. apply verdict_value. auto.
    Qed.

    (** The sum of a block of units. *)
    Lemma sum_of_block : forall (A : Type) before (f : A -> bool) (l : list A) after,
      hv = before ++ map (fun d => flag p (f d)) l ++ after ->
      (length (filter f l) <= 1)%nat ->
      unit_value p (sum_of_units p (length before) (length l)) hv = flag p (negb (length (filter f l) =? 0)%nat).
    Proof.
      intros A before f l after Hhv Hcount. unfold unit_value, sum_of_units, apply_form. cbn [fst snd]. rewrite map_map.
      cbn [fst snd].
      replace (map (fun u => multiply p (at_column hv u) (one p)) (seq (length before) (length l)))
        with (map (fun d => flag p (f d)) l).
      - rewrite sum_of_exclusive_flags by assumption.
        pose proof (flag_representable p (negb (length (filter f l) =? 0)%nat) p_positive) as R.
        rewrite add_0_r by assumption. pose proof (one_at_least_2 p p_positive). unfold relu, flag.
        destruct (negb _); lia.
      - apply nth_ext with (d := 0) (d' := 0); [rewrite !map_length, seq_length; reflexivity|].
        intros n Hn. rewrite map_length in Hn.
        rewrite (nth_indep (map (fun u => multiply p (at_column hv u) (one p)) (seq (length before) (length l))) 0
                           (multiply p (at_column hv 0) (one p))) by (rewrite map_length, seq_length; assumption).
        rewrite (map_nth (fun u => multiply p (at_column hv u) (one p))), seq_nth by assumption.
        unfold at_column. rewrite Hhv, app_nth2 by lia. replace (length before + n - length before)%nat with n by lia.
        rewrite app_nth1 by (rewrite map_length; assumption).
        rewrite multiply_one; [reflexivity | assumption|].
        destruct l as [|d l]; [simpl in Hn; lia|].
        rewrite (nth_map _ _ (fun d => flag p (f d)) _ _ _ d) by assumption. apply flag_representable. assumption.
    Qed.

    Lemma counted : forall (l : list disjunct) (b : bool),
      length (filter (disjunct_holds c x) l) = (if b then 1 else 0)%nat ->
      (length (filter (fun d => is_last i && disjunct_holds c x d) l) <= 1)%nat
      /\ negb (length (filter (fun d => is_last i && disjunct_holds c x d) l) =? 0)%nat = (is_last i && b).
    Proof.
      intros l b H. destruct (is_last i); cbn [andb].
      - replace (filter (fun d => disjunct_holds c x d) l) with (filter (disjunct_holds c x) l) by reflexivity.
        rewrite H. destruct b; split; reflexivity || lia.
      - replace (filter (fun _ => false) l) with (@nil disjunct); [split; simpl; [lia | reflexivity]|].
        clear H. induction l as [|d l IH]; [reflexivity | exact IH].
    Qed.

    Theorem second_layer_recognises : forall h, exists r', layer_row p e (second_layer p m c rows waits) h r = Some r'
      /\ length r' = width /\ recognised i x r'.
    Proof.
      intro h. exists (plus p g (mlp_output p (feed_forward (second_layer p m c rows waits)) g)).
      assert (Hlen : length g = length (mlp_output p (feed_forward (second_layer p m c rows waits)) g)).
      { rewrite g_length. unfold second_layer. cbn [feed_forward]. rewrite mlp_output_length. reflexivity. }
      split; [apply layer_row_of_heads; constructor|]. split; [rewrite plus_length by assumption; apply g_length|].
      pose proof known_columns as [H1 [H2 [H3 [_ [H5 [_ H7]]]]]].
      pose proof (zero_representable p p_positive) as R0. pose proof (one_representable p p_positive) as R1.
      assert (R : forall b, representable p (flag p b)) by (intro; apply flag_representable; assumption).
      set (output := fun k => if (k <? product_copy m c rows left_side)%nat then ([], 0)
                  else if (k <? product_copy m c rows right_side)%nat then ([((k - product_copy m c rows left_side)%nat,
                    one p)], 0)
                  else if (k <? accepted m c rows)%nat then ([((k - product_copy m c rows right_side)%nat, one p)], 0)
                  else if (k <? rejected m c rows)%nat then sum_of_units p (size m) (length (accept_when c))
                  else sum_of_units p (size m + length (accept_when c)) (length (reject_when c)) : unit_pair).
      assert (Hunits : length units = (size m + (length (accept_when c) + length (reject_when c)))%nat).
      { unfold units. rewrite !app_length, !map_length, seq_length. reflexivity. }
      assert (block_fits : forall first count, (first + count <= length units)%nat ->
                fits (length units) (fst (sum_of_units p first count))).
      { intros first count Hfc. unfold sum_of_units, fits. cbn [fst]. rewrite map_map. cbn [fst]. rewrite map_id.
        split; [apply sorted_seq|]. apply Forall_forall. intros u Hu. apply in_seq in Hu. lia. }
      assert (output_fits : forall k, (k < width)%nat -> fits (length units) (fst (output k))).
      { intros k Hk. unfold output. destruct (Nat.ltb_spec k (product_copy m c rows left_side)); [apply fits_nil|].
        destruct (Nat.ltb_spec k (product_copy m c rows right_side)); [apply fits_single; rewrite Hunits; columns;
          lia|].
        destruct (Nat.ltb_spec k (accepted m c rows)); [apply fits_single; rewrite Hunits; columns; lia|].
        destruct (Nat.ltb_spec k (rejected m c rows)); apply block_fits; rewrite Hunits; lia. }
      assert (value : forall k, (k < width)%nat ->
        at_column (plus p g (mlp_output p (feed_forward (second_layer p m c rows waits)) g)) k
        = add p (at_column g k) (unit_value p (output k) hv)).
      { intros k Hk. rewrite at_plus by (try assumption; rewrite g_length; assumption). f_equal.
        unfold second_layer. cbn [feed_forward].
        rewrite mlp_output_of; [reflexivity | assumption | apply units_fit | apply g_length | assumption |].
        apply (output_fits k Hk). }
      assert (low : forall k, (k < product_copy m c rows left_side)%nat -> representable p (at_column g k) ->
        at_column (plus p g (mlp_output p (feed_forward (second_layer p m c rows waits)) g)) k = at_column g k).
      { intros k Hk Hr. rewrite value by (unfold width; columns; lia). unfold output.
        destruct (Nat.ltb_spec k (product_copy m c rows left_side)); [|lia].
        unfold unit_value, apply_form, sum, sum_from. simpl. rewrite add_0_r by assumption. simpl. apply add_0_r.
        assumption. }
      assert (copied : forall a, (a < size m)%nat ->
        unit_value p ([(a, one p)], 0) hv = flag p (negb (is_last i) && (a =? x)%nat)).
      { intros a Ha. unfold unit_value. cbn [fst snd]. rewrite apply_single by assumption.
        rewrite hidden_values. unfold at_column. rewrite app_nth1 by (rewrite map_length, seq_length; assumption).
        rewrite nth_map_seq by assumption. rewrite multiply_one, add_0_r by auto.
        pose proof (one_at_least_2 p p_positive). unfold relu, flag. destruct (_ && _)%bool; lia. }
      destruct (accepting_is_coded m c coded x x_is_element) as [Hacc Hrej].
      split; [|split; [|split; [|split; [|split; [|split]]]]].
      - rewrite low; [assumption | columns; lia | rewrite H1; assumption].
      - rewrite low; [assumption | columns; lia | rewrite H2; auto].
      - rewrite low; [assumption | columns; lia | rewrite H3; auto].
      - rewrite low; [assumption | columns; lia | rewrite H5; assumption].
      - intros s a Ha. rewrite value by (unfold width; destruct s; columns; lia).
        rewrite H7 by (unfold width; destruct s; columns; lia).
        replace (output (product_copy m c rows s + a)%nat) with (([(a, one p)], 0) : unit_pair).
        + rewrite copied by assumption. apply add_0_l. auto.
        + unfold output. destruct s.
          * destruct (Nat.ltb_spec (product_copy m c rows left_side + a) (product_copy m c rows left_side)); [lia|].
            destruct (Nat.ltb_spec (product_copy m c rows left_side + a) (product_copy m c rows right_side)); [|columns;
              lia].
            repeat f_equal. lia.
          * destruct (Nat.ltb_spec (product_copy m c rows right_side + a) (product_copy m c rows left_side)); [columns;
              lia|].
            destruct (Nat.ltb_spec (product_copy m c rows right_side + a) (product_copy m c rows right_side)); [lia|].
            destruct (Nat.ltb_spec (product_copy m c rows right_side + a) (accepted m c rows)); [|columns; lia].
            repeat f_equal. lia.
      - intros j Hj. rewrite value by (unfold width; columns; lia). rewrite H7 by (unfold width; columns; lia).
        unfold output.
        destruct (Nat.ltb_spec (accepted m c rows + j) (product_copy m c rows left_side)); [columns; lia|].
        destruct (Nat.ltb_spec (accepted m c rows + j) (product_copy m c rows right_side)); [columns; lia|].
        destruct (Nat.ltb_spec (accepted m c rows + j) (accepted m c rows)); [lia|].
        destruct (Nat.ltb_spec (accepted m c rows + j) (rejected m c rows)); [|columns; lia].
        destruct (counted _ _ Hacc) as [Hle Hcount].
        pose proof (sum_of_block disjunct (map (fun a => flag p (negb (is_last i) && (a =? x)%nat)) (seq 0 (size m)))
                      (fun d => is_last i && disjunct_holds c x d) (accept_when c) _ hidden_values Hle) as Hsum.
        rewrite map_length, seq_length, Hcount in Hsum. rewrite Hsum. apply add_0_l. auto.
      - intros j Hj. rewrite value by (unfold width; columns; lia). rewrite H7 by (unfold width; columns; lia).
        unfold output.
        destruct (Nat.ltb_spec (rejected m c rows + j) (product_copy m c rows left_side)); [columns; lia|].
        destruct (Nat.ltb_spec (rejected m c rows + j) (product_copy m c rows right_side)); [columns; lia|].
        destruct (Nat.ltb_spec (rejected m c rows + j) (accepted m c rows)); [columns; lia|].
        destruct (Nat.ltb_spec (rejected m c rows + j) (rejected m c rows)); [lia|].
        assert (Hrej' : length (filter (disjunct_holds c x) (reject_when c))
          = (if negb (accepting m x) then 1 else 0)%nat)
          by (rewrite Hrej; destruct (accepting m x); reflexivity).
        destruct (counted _ _ Hrej') as [Hle Hcount].
        pose proof hidden_values as Hhv. rewrite <- (app_nil_r (map _ (reject_when c))) in Hhv.
        rewrite app_assoc in Hhv.
        pose proof (sum_of_block disjunct _ (fun d => is_last i
          && disjunct_holds c x d) (reject_when c) _ Hhv Hle) as Hsum.
        rewrite app_length, !map_length, seq_length, Hcount in Hsum. rewrite Hsum. apply add_0_l. auto.
    Qed.
  End Row.
End Second.
