(** The predictor as a whole: a row whose factors are there decodes to the symbol of their product, the last row to the
    verdict on it. *)

From Coq Require Import ZArith Lia List Bool Arith.
From Unmask Require Import Numbers Flags Sums Exponential Layer Forms LayerRows.
From Unmask Require Import Diffusion Programs Monoid Vocabulary Coding Predictor PredictorRows PredictorFirst
  PredictorSecond.
Import ListNotations.
Open Scope Z_scope.

(** The symbol that a row decodes to when its product is x. *)
Definition chosen (m : monoid) (rows i x : nat) : nat := if is_last rows i then verdict m x else symbol_of m x.

Lemma stands_for_nothing : forall m symbol, (symbol < symbols m)%nat -> element_of m symbol = None ->
  symbol = reject_symbol m \/ symbol = accept_symbol m.
Proof.
  intros m symbol Hs H. unfold element_of, symbols, reject_symbol, accept_symbol, mask_symbol in *.
  destruct (symbol <? length (letters m))%nat; [discriminate|].
  destruct (Nat.ltb_spec symbol (written m)); [discriminate|].
  destruct (Nat.eqb_spec symbol (written m)); [discriminate|]. lia.
Qed.

Lemma verdicts_stand_for_nothing : forall m,
  element_of m (reject_symbol m) = None /\ element_of m (accept_symbol m) = None.
Proof.
  intro m. unfold element_of, reject_symbol, accept_symbol, mask_symbol, written. split;
    repeat match goal with |- context [(?a <? ?b)%nat] => destruct (Nat.ltb_spec a b); [lia|] end;
    match goal with |- context [(?a =? ?b)%nat] => destruct (Nat.eqb_spec a b); [lia|] end; reflexivity.
Qed.

Lemma chosen_is_a_symbol : forall m rows i x, (x < size m)%nat ->
  (chosen m rows i x < symbols m)%nat /\ chosen m rows i x <> mask_symbol m.
Proof.
  intros m rows i x Hx. unfold chosen. destruct (symbol_of_element m x Hx) as [Hw _].
  unfold verdict, symbols, mask_symbol, accept_symbol, reject_symbol.
  destruct (is_last rows i); [destruct (accepting m x)|]; lia.
Qed.

Section Decides.
  Variables (p : Z) (m : monoid) (c : coding) (rows : nat) (waits : bool).
  Variables (factor : side -> nat -> nat) (tokens : list nat).
  Variable e : exponential p.
  Hypothesis p_at_least_2 : 2 <= p.
  Hypothesis laws : lawful m.
  Hypothesis coded : codes m c.
  Hypothesis length_tokens : length tokens = rows.
  Hypothesis known_tokens : forall i, (i < rows)%nat -> (nth i tokens 0 < symbols m)%nat.
  Hypothesis factors_are_rows : forall s i, (i < rows)%nat -> (factor s i < rows)%nat.

  Let p_positive : 1 <= p.
  Proof. lia. Qed.

  Lemma output_fits : forall symbol, (symbol < symbols m)%nat ->
    fits (width m c rows) (predictor_output p m c rows symbol).
  Proof.
    intros symbol Hs. unfold predictor_output. destruct (element_of m symbol) as [a|] eqn:E.
    - pose proof (element_is_element m laws symbol a E). destruct (symbol_of m a =? symbol)%nat; columns; fits_list.
    - destruct (symbol =? accept_symbol m)%nat; columns; fits_list.
  Qed.

  (** Four terms of a logit: two that may take B away, and one that may give it back, twice. *)
  Lemma four_terms : forall first second third : bool,
    sum p [multiply p (flag p first) (- bound p); multiply p (flag p second) (- bound p);
           multiply p (flag p third) (bound p); multiply p (flag p third) (bound p)]
    = if third then bound p else if first || second then - bound p else 0.
  Proof.
    intros first second third. pose proof (bound_positive p p_positive).
    pose proof (bound_representable p p_positive) as HB. pose proof (opposite_representable p _ HB) as HB'.
    unfold sum, sum_from. cbn [fold_left].
    destruct first, second, third; unfold flag; rewrite ?one_multiply, ?multiply_0_l by assumption;
      cbn [andb orb]; unfold add, clip; lia.
  Qed.

  (** The logits of a recognised row: B for the chosen symbol, -B for all others. *)
  Lemma logit_value : forall i x r symbol, (x < size m)%nat -> length r = width m c rows ->
    recognised p m c rows i x r -> (symbol < symbols m)%nat ->
    apply_form p (predictor_output p m c rows symbol) r
      = if (symbol =? chosen m rows i x)%nat then bound p else - bound p.
  Proof.
    intros i x r symbol Hx Hlength [H1 [H2 [H3 [H4 [H5 [H6 H7]]]]]] Hs.
    pose proof (bound_positive p p_positive). pose proof (one_at_least_2 p p_positive).
    pose proof (bound_representable p p_positive) as HB. pose proof (opposite_representable p _ HB) as HB'.
    destruct (symbol_of_element m x Hx) as [Hwritten Hstands].
    change (one p) with (flag p true) in H4.
    unfold predictor_output, chosen. destruct (element_of m symbol) as [a|] eqn:E.
    - assert (Hverdict : forall y, symbol <> verdict m y).
      { intros y ->. unfold verdict in E. destruct (verdicts_stand_for_nothing m) as [V1 V2].
        destruct (accepting m y); congruence. }
      destruct (Nat.eqb_spec (symbol_of m a) symbol) as [<-|Hne].
      + pose proof (element_is_element m laws _ a E) as Ha.
        unfold apply_form. cbn [map fst snd]. rewrite H2, H4, !H5 by assumption. rewrite four_terms.
        destruct (is_last rows i); cbn [negb andb].
        * destruct (Nat.eqb_spec (symbol_of m a) (verdict m x)) as [Ev|]; [destruct (Hverdict x Ev) | reflexivity].
        * destruct (Nat.eqb_spec a x) as [->|Hax].
          -- rewrite Nat.eqb_refl. reflexivity.
          -- destruct (Nat.eqb_spec (symbol_of m a) (symbol_of m x)) as [Es|]; [|reflexivity].
             apply symbol_of_injective in Es; [contradiction | assumption | assumption].
      + rewrite apply_single, H1, one_multiply by assumption.
        destruct (Nat.eqb_spec symbol (if is_last rows i then verdict m x else symbol_of m x)) as [Ec|]; [|reflexivity].
        destruct (is_last rows i); [destruct (Hverdict x Ec)|].
        rewrite Ec, Hstands in E. inversion E. subst. contradiction.
    - assert (Hsymbol : symbol <> symbol_of m x) by (intros ->; congruence).
      destruct (stands_for_nothing m symbol Hs E) as [-> | ->].
      + assert (Hneq : (reject_symbol m =? accept_symbol m)%nat = false).
        { apply Nat.eqb_neq. unfold reject_symbol, accept_symbol. lia. }
        rewrite Hneq. pose proof (H7 0%nat ltac:(lia)) as H70. rewrite Nat.add_0_r in H70.
        unfold apply_form. cbn [map fst snd]. rewrite H3, H4, H70, (H7 1%nat) by lia. rewrite four_terms.
        unfold verdict. destruct (is_last rows i); cbn [negb andb orb].
        * destruct (accepting m x); cbn [negb]; [rewrite Hneq | rewrite Nat.eqb_refl]; reflexivity.
        * destruct (Nat.eqb_spec (reject_symbol m) (symbol_of m x)); [contradiction | reflexivity].
      + rewrite Nat.eqb_refl. pose proof (H6 0%nat ltac:(lia)) as H60. rewrite Nat.add_0_r in H60.
        unfold apply_form. cbn [map fst snd]. rewrite H3, H4, H60, (H6 1%nat) by lia. rewrite four_terms.
        unfold verdict. destruct (is_last rows i); cbn [negb andb orb].
        * destruct (accepting m x); cbn [negb]; [rewrite Nat.eqb_refl; reflexivity|].
          destruct (Nat.eqb_spec (accept_symbol m) (reject_symbol m)) as [Ea|]; [|reflexivity].
          unfold reject_symbol, accept_symbol in Ea. lia.
        * destruct (Nat.eqb_spec (accept_symbol m) (symbol_of m x)); [contradiction | reflexivity].
  Qed.

  Lemma decoded : forall i x r, (x < size m)%nat -> length r = width m c rows -> recognised p m c rows i x r ->
    argmax (without p (mask_symbol m) (times p r (out (product_predictor p m c rows waits factor))))
      = chosen m rows i x.
  Proof.
    intros i x r Hx Hlength Hrec. pose proof (bound_positive p p_positive).
    set (ls := times p r (out (product_predictor p m c rows waits factor))).
    assert (Hls : length ls = symbols m).
    { unfold ls, times, product_predictor, transformer_of. cbn [out]. rewrite !map_length, seq_length. reflexivity. }
    assert (value : forall k, (k < symbols m)%nat -> nth k (without p (mask_symbol m) ls) 0
              = if (k =? mask_symbol m)%nat then - bound p - 1 else if (k =? chosen m rows i x)%nat then bound p else -
                bound p).
    { intros k Hk. unfold without. rewrite Hls, nth_map_seq by assumption.
      destruct (k =? mask_symbol m)%nat; [reflexivity|].
      unfold ls, product_predictor, transformer_of. cbn [out].
      rewrite output_logit; [| assumption | assumption | exact Hlength | apply output_fits; assumption].
      apply logit_value; assumption. }
    assert (Hwl : length (without p (mask_symbol m) ls) = symbols m).
    { unfold without. rewrite map_length, seq_length. assumption. }
    destruct (chosen_is_a_symbol m rows i x Hx) as [Hc Hm].
    apply argmax_unique; rewrite Hwl; [assumption|]. intros k Hk Hne.
    rewrite (value _ Hc), value, Nat.eqb_refl by assumption.
    destruct (Nat.eqb_spec (chosen m rows i x) (mask_symbol m)); [contradiction|].
    destruct (k =? mask_symbol m)%nat; [lia|]. destruct (Nat.eqb_spec k (chosen m rows i x)); [contradiction | lia].
  Qed.

  Theorem predictor_decides : exists x, logits p e (product_predictor p m c rows waits factor) tokens = Some x
    /\ forall i a b, (i < rows)%nat -> has_factors m waits factor tokens i a b ->
         argmax (without p (mask_symbol m) (nth i x [])) = chosen m rows i (product m a b).
  Proof.
    set (h := embedded p (product_predictor p m c rows waits factor) tokens).
    assert (Hh : length h = rows) by (apply embedded_length; assumption).
    destruct (run_layer_rows p e (first_layer p m c rows waits) h
      (fun i r => length r = width m c rows
                  /\ forall a b, has_factors m waits factor tokens i a b ->
                    multiplied p m c rows waits i (product m a b) r))
      as [h1 [Hrun1 [Hlen1 Hall1]]].
    { intros i Hi. apply first_layer_multiplies; try assumption. lia. }
    rewrite Hh in *.
    destruct (run_layer_rows p e (second_layer p m c rows waits) h1
      (fun i r => forall a b, has_factors m waits factor tokens i a b ->
                  length r = width m c rows /\ recognised p m c rows i (product m a b) r)) as [h2 [Hrun2 [Hlen2
                    Hall2]]].
    { intros i Hi. eexists. split; [apply layer_row_of_heads; constructor|]. intros a b Hf.
      destruct (Hall1 i ltac:(lia)) as [Hl Hm]. specialize (Hm a b Hf).
      assert (Hx : (product m a b < size m)%nat).
      { destruct Hf as [Ha [Hb _]]. apply closed; [assumption | |]; eapply element_is_element; eassumption. }
      destruct (second_layer_recognises p m c rows waits e p_at_least_2 coded i (product m a b) (nth i h1 []) Hx Hl Hm
        h1)
        as [r' [E [Hl' Hr']]].
      rewrite layer_row_of_heads with (results := []) in E by constructor. inversion E. subst r'. split; assumption. }
    unfold logits. fold h.
    change (layers (product_predictor p m c rows waits factor)) with [first_layer p m c rows waits;
      second_layer p m c rows waits].
    unfold run_layers. rewrite Hrun1, Hrun2.
    eexists. split; [reflexivity|]. intros i a b Hi Hf.
    assert (Hx : (product m a b < size m)%nat).
    { destruct Hf as [Ha [Hb _]]. apply closed; [assumption | |]; eapply element_is_element; eassumption. }
    destruct (Hall2 i ltac:(lia) a b Hf) as [Hl Hr].
    rewrite (nth_map vector vector _ _ _ _ []) by lia.
    rewrite <- (decoded i (product m a b) (nth i h2 [])) by assumption. reflexivity.
  Qed.
End Decides.
