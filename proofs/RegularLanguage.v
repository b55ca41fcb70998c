(** The theorem: for every finite monoid with a morphism and an accepting set, every p >= 2, every N >= 1 and every word
    of length N, the compiled model holds the verdict in its last slot after max (1, ⌈log2 N⌉) steps, and ever after. *)

From Coq Require Import ZArith Lia List Bool Arith.
From Unmask Require Import Numbers Exponential CorrectRounding Layer Diffusion Programs Monoid Automaton Transformations.
From Unmask Require Import Vocabulary Coding Tree.
From Unmask Require Import Planner Predictor PredictorRows PredictorFirst PredictorSecond PredictorDecides Model.
From Unmask Require Import Codes Shapes.
Import ListNotations.
Open Scope nat_scope.

Lemma one_letter : forall word : list nat, length word = 1 -> word = [nth 0 word 0].
Proof. intros [|t [|t' word]] H; try discriminate. reflexivity. Qed.

Section Regular.
  Variables (p : Z) (e : exponential p) (m : monoid) (c : coding) (word : list nat).
  Hypothesis p_at_least_2 : (2 <= p)%Z.
  Hypothesis laws : lawful m.
  Hypothesis coded : codes m c.
  Hypothesis is_a_word : is_word m word.
  Let n : nat := length word.
  Hypothesis not_empty : 1 <= n.

  Let rows : nat := n + slots n.
  Let answer : nat := element_of_word m word.

  (** What a slot is to hold: the symbol of its product, or in the root the verdict. *)
  Definition slot_value (position : nat) : nat := if position =? rows - 1 then answer else value m word position.
  Definition correct (position : nat) : nat := chosen m rows position (slot_value position).

  Lemma answer_is_element : answer < size m.
  Proof.
    unfold answer. rewrite element_of_word_is_product by assumption.
    apply product_of_closed, letters_all_elements; assumption.
  Qed.

  Lemma children_are_rows : forall side position, side <= 1 -> position < rows -> child n side position < rows.
  Proof.
    intros side position Hside Hposition. unfold rows, slots in *. destruct (le_lt_dec n position).
    - destruct (le_lt_dec 2 n).
      + pose proof (child_before word ltac:(fold n; lia) side position Hside) as H. fold n in H. lia.
      + unfold child, factor. destruct (Nat.ltb_spec position n); [lia|].
        destruct (Nat.ltb_spec (2 * (position - n) + side) n); [|lia].
        pose proof (Nat.mod_upper_bound (2 * (position - n) + side + n - 2 * surplus n) n ltac:(lia)). lia.
    - unfold child. destruct (Nat.ltb_spec position n); lia.
  Qed.

  (** A canvas whose slots are masked or right. *)
  Definition masked_or_right (canvas : list nat) : Prop :=
    length canvas = slots n
    /\ forall slot, slot < slots n -> nth slot canvas (mask_symbol m) = mask_symbol m
                                      \/ nth slot canvas (mask_symbol m) = correct (n + slot).

  Lemma slot_value_is_element : forall slot, slot < slots n -> slot_value (n + slot) < size m.
  Proof.
    intros slot Hslot. unfold slot_value. destruct (Nat.eqb_spec (n + slot) (rows - 1)); [apply answer_is_element|].
    unfold rows, slots in *. apply value_is_element; [assumption | fold n; lia | fold n; lia].
  Qed.

  Lemma correct_is_known : forall slot, slot < slots n -> correct (n + slot) < symbols m
    /\ correct (n + slot) <> mask_symbol m.
  Proof. intros slot Hslot. apply chosen_is_a_symbol. apply slot_value_is_element. assumption. Qed.

  Section Step.
    Variable canvas : list nat.
    Hypothesis good : masked_or_right canvas.
    Let tokens : list nat := word ++ canvas.

    Lemma tokens_length : length tokens = rows.
    Proof. destruct good as [H _]. unfold tokens. rewrite app_length. fold n. rewrite H. reflexivity. Qed.

    Lemma token_of_letter : forall i, i < n -> nth i tokens 0 = nth i word 0.
    Proof. intros i Hi. apply app_nth1. assumption. Qed.

    Lemma token_of_slot : forall slot, slot < slots n -> nth (n + slot) tokens 0 = nth slot canvas (mask_symbol m).
    Proof.
      intros slot Hslot. destruct good as [H _]. unfold tokens. rewrite app_nth2 by (fold n; lia). fold n.
      replace (n + slot - n) with slot by lia. apply nth_indep. lia.
    Qed.

    Lemma letter_is_known : forall i, i < n -> nth i word 0 < length (letters m).
    Proof.
      intros i Hi. pose proof is_a_word as H. unfold is_word in H. rewrite Forall_forall in H. apply H, nth_In.
      assumption.
    Qed.

    Lemma tokens_are_known : forall i, i < rows -> nth i tokens 0 < symbols m.
    Proof.
      intros i Hi. destruct (le_lt_dec n i).
      - replace i with (n + (i - n)) by lia. assert (Hs : i - n < slots n) by (unfold rows in Hi; lia).
        rewrite token_of_slot by assumption. destruct good as [_ H].
        destruct (H (i - n) Hs) as [-> | ->]; [unfold symbols, mask_symbol; lia | apply correct_is_known; assumption].
      - rewrite token_of_letter by assumption. pose proof (letter_is_known i ltac:(lia)).
        destruct (letter_stands_for m _ H). unfold symbols. lia.
    Qed.

    Lemma tree_children_are_rows : forall i f, i < rows -> In f (tree_children n) -> f i < rows.
    Proof.
      intros i f Hi Hf. unfold tree_children in Hf. destruct (1 <? n); [|destruct Hf].
      destruct Hf as [<-|[<-|[]]]; apply children_are_rows; lia.
    Qed.

    Let chosen_now (slot : nat) : bool := ready (mask_symbol m) (tree_children n) tokens (n + slot).

    (** One step: a slot that the planner chooses takes the predictor's symbol. *)
    Lemma step_of_canvas : exists next, step p e (tree_model p m c n) word canvas = Some next
      /\ length next = slots n
      /\ forall slot, slot < slots n ->
           (chosen_now slot = false -> nth slot next (mask_symbol m) = nth slot canvas (mask_symbol m))
           /\ (forall a b, chosen_now slot = true ->
                 has_factors m (1 <? n) (fun s => child n (side_number s)) tokens (n + slot) a b ->
                 nth slot next (mask_symbol m) = chosen m rows (n + slot) (product m a b)).
    Proof.
      destruct (planner_decides p (symbols m) (mask_symbol m) rows (tree_children n) ltac:(lia) e tokens
                  tokens_length tokens_are_known tree_children_are_rows) as [u [Hu Hplan]].
      destruct (predictor_decides p m c rows (1 <? n) (fun s => child n (side_number s)) tokens e p_at_least_2 laws
        coded
                  tokens_length tokens_are_known) as [x [Hx Hpredict]].
      { intros s i Hi. apply children_are_rows; [destruct s; simpl; lia | assumption]. }
      destruct good as [Hlength _]. unfold step, tree_model. cbn [planner predictor mask]. fold rows. fold tokens.
      rewrite Hu, Hx. eexists. split; [reflexivity|].
      split; [rewrite map_length, seq_length; assumption|]. intros slot Hslot.
      rewrite Hlength, nth_map_seq by assumption. cbv beta zeta. fold n.
      assert (Hrow : n + slot < rows) by (unfold rows; lia). rewrite (Hplan _ Hrow). fold (chosen_now slot). split.
      - intros ->. reflexivity.
      - intros a b -> Hf. apply (Hpredict _ a b); assumption.
    Qed.

    Lemma not_masked : forall i, i < n -> is_masked (mask_symbol m) tokens i = false.
    Proof.
      intros i Hi. unfold is_masked. rewrite token_of_letter by assumption. apply Nat.eqb_neq.
      pose proof (letter_is_known i Hi) as H. destruct (letter_stands_for m _ H). unfold mask_symbol. lia.
    Qed.

    Lemma masked_slot : forall slot, slot < slots n ->
      is_masked (mask_symbol m) tokens (n + slot) = (nth slot canvas (mask_symbol m) =? mask_symbol m).
    Proof. intros slot Hslot. unfold is_masked. rewrite token_of_slot by assumption. reflexivity. Qed.

    (** What stands in an unmasked position other than the root. *)
    Lemma position_stands_for : 2 <= n -> forall i, i < rows - 1 -> is_masked (mask_symbol m) tokens i = false ->
      element_of m (token tokens i) = Some (value m word i).
    Proof.
      intros Hn i Hi Hm. unfold token. destruct (le_lt_dec n i).
      - assert (Hi' : exists slot, i = n + slot) by (exists (i - n); lia). destruct Hi' as [slot ->].
        assert (Hs : slot < slots n) by (unfold rows in Hi; lia).
        rewrite masked_slot in Hm by assumption. rewrite token_of_slot by assumption. apply Nat.eqb_neq in Hm.
        destruct good as [_ H]. destruct (H _ Hs) as [E|E]; [contradiction|]. rewrite E.
        assert (Hlast : (n + slot =? rows - 1) = false) by (apply Nat.eqb_neq; lia).
        unfold correct, chosen, slot_value, is_last. rewrite Hlast. apply symbol_of_element.
        unfold rows, slots in *. apply value_is_element; [assumption | fold n; lia | fold n; lia].
      - rewrite token_of_letter by assumption. rewrite value_of_letter by (fold n; lia).
        apply letter_stands_for, letter_is_known. assumption.
    Qed.
  End Step.

  (** After some steps: a slot is right, or masked and so close to the root that it may be. *)
  Definition progress (step : nat) (canvas : list nat) : Prop :=
    length canvas = slots n
    /\ forall slot, slot < slots n ->
         nth slot canvas (mask_symbol m) = correct (n + slot)
         \/ (nth slot canvas (mask_symbol m) = mask_symbol m
             /\ if 2 <=? n then 2 * n <= n + slot + distance n step else step = 0).

  Lemma progress_is_good : forall step canvas, progress step canvas -> masked_or_right canvas.
  Proof. intros step canvas [H1 H2]. split; [assumption|]. intros slot Hslot.
  destruct (H2 slot Hslot) as [H|[H _]]; tauto. Qed.

  Lemma start_progress : progress 0 (repeat (mask_symbol m) (slots n)).
  Proof.
    split; [apply repeat_length|]. intros slot Hslot. right. split.
    - destruct (nth_in_or_default slot (repeat (mask_symbol m) (slots n)) (mask_symbol m)) as [H|H]; [|assumption].
      apply repeat_spec in H. assumption.
    - destruct (2 <=? n); [simpl; lia | reflexivity].
  Qed.

  Lemma step_progress : forall step_number canvas, progress step_number canvas ->
    exists next, step p e (tree_model p m c n) word canvas = Some next /\ progress (S step_number) next.
  Proof.
    intros step_number canvas Hprogress. pose proof (progress_is_good _ _ Hprogress) as Hgood.
    destruct (step_of_canvas canvas Hgood) as [next [Hstep [Hlength Hslots]]].
    exists next. split; [assumption|]. split; [assumption|]. intros slot Hslot.
    destruct (Hslots slot Hslot) as [Hkept Hwritten]. destruct Hprogress as [_ Hcanvas].
    set (tokens := word ++ canvas) in *.
    set (now := ready (mask_symbol m) (tree_children n) tokens (n + slot)) in *.
    assert (Hready : now
              = (nth slot canvas (mask_symbol m) =? mask_symbol m)
                && forallb (fun f => negb (is_masked (mask_symbol m) tokens (f (n + slot)))) (tree_children n)).
    { unfold now, ready, tokens. rewrite masked_slot by assumption. reflexivity. }
    clearbody now.
    destruct (Nat.eqb_spec (nth slot canvas (mask_symbol m)) (mask_symbol m)) as [Hmask|Hmask].
    2: { destruct (Hcanvas slot Hslot) as [H|[H _]]; [|contradiction]. left. rewrite <- H. apply Hkept.
         rewrite Hready. reflexivity. }
    cbn [andb] in Hready. unfold tree_children in Hready.
    destruct (Nat.leb_spec 2 n) as [Hn|Hn].
    - (* two letters or more: both children must be there *)
      destruct (Nat.ltb_spec 1 n) as [_|]; [|lia]. cbn [forallb] in Hready. rewrite andb_true_r in Hready.
      assert (Hposition : n <= n + slot < 2 * n - 1) by (unfold slots in Hslot; lia).
      assert (Hbefore : forall side, side <= 1 -> child n side (n + slot) < n + slot).
      { intros side Hside. apply (child_before word); fold n; assumption. }
      assert (Hrows : rows = 2 * n - 1) by (unfold rows, slots; lia).
      destruct (is_masked (mask_symbol m) tokens (child n 0 (n + slot))) eqn:E0;
        [|destruct (is_masked (mask_symbol m) tokens (child n 1 (n + slot))) eqn:E1].
      + right. split; [rewrite Hkept; [assumption | rewrite Hready; reflexivity]|].
        apply Nat.nlt_ge. intro Hclose. pose proof (Hbefore 0 ltac:(lia)).
        destruct (children_are_written n step_number 0 (n + slot) ltac:(lia) ltac:(lia) Hclose) as [Hin|Hin].
        * unfold tokens in E0. rewrite not_masked in E0 by assumption. discriminate.
        * destruct (le_lt_dec n (child n 0 (n + slot))) as [Hge|Hlt];
            [|unfold tokens in E0; rewrite not_masked in E0 by assumption; discriminate].
          set (k := child n 0 (n + slot)) in *. replace k with (n + (k - n)) in E0 by lia.
          assert (Hk : k - n < slots n) by lia. unfold tokens in E0. rewrite masked_slot in E0 by assumption.
          apply Nat.eqb_eq in E0. destruct (Hcanvas _ Hk) as [Hc|[_ Hd]]; [|lia].
          destruct (correct_is_known _ Hk) as [_ Hne]. congruence.
      + right. split; [rewrite Hkept; [assumption | rewrite Hready; reflexivity]|].
        apply Nat.nlt_ge. intro Hclose. pose proof (Hbefore 1 ltac:(lia)).
        destruct (children_are_written n step_number 1 (n + slot) ltac:(lia) ltac:(lia) Hclose) as [Hin|Hin].
        * unfold tokens in E1. rewrite not_masked in E1 by assumption. discriminate.
        * destruct (le_lt_dec n (child n 1 (n + slot))) as [Hge|Hlt];
            [|unfold tokens in E1; rewrite not_masked in E1 by assumption; discriminate].
          set (k := child n 1 (n + slot)) in *. replace k with (n + (k - n)) in E1 by lia.
          assert (Hk : k - n < slots n) by lia. unfold tokens in E1. rewrite masked_slot in E1 by assumption.
          apply Nat.eqb_eq in E1. destruct (Hcanvas _ Hk) as [Hc|[_ Hd]]; [|lia].
          destruct (correct_is_known _ Hk) as [_ Hne]. congruence.
      + left. pose proof (Hbefore 0 ltac:(lia)). pose proof (Hbefore 1 ltac:(lia)).
        rewrite (Hwritten (value m word (child n 0 (n + slot))) (value m word (child n 1 (n + slot)))).
        * unfold correct. f_equal. unfold slot_value. rewrite <- (value_of_slot m word) by (fold n; lia).
          destruct (Nat.eqb_spec (n + slot) (rows - 1)) as [Hroot|]; [|reflexivity].
          unfold answer. rewrite <- (root_is_the_product m word) by (try assumption; fold n; lia). f_equal. fold n. lia.
        * rewrite Hready. reflexivity.
        * split; [|split].
          -- apply (position_stands_for canvas Hgood Hn); [cbn; lia | assumption].
          -- apply (position_stands_for canvas Hgood Hn); [cbn; lia | assumption].
          -- intros _ s. unfold hidden_symbol, token. fold (is_masked (mask_symbol m) tokens (child n (side_number s) (n
               + slot))).
             destruct s; assumption.
    - (* one letter: times the identity, which the mask stands for *)
      destruct (Nat.ltb_spec 1 n) as [|_]; [lia|]. cbn [forallb] in Hready.
      assert (Hone : n = 1) by lia. assert (Hs : slot = 0) by (unfold slots in Hslot; lia). subst slot. left.
      assert (Hvalue : slot_value (n + 0) = letter m (nth 0 word 0)).
      { unfold slot_value, rows, slots. rewrite Hone. cbn. unfold answer, element_of_word.
        rewrite (one_letter word Hone) at 1. cbn. apply identity_left; [assumption | apply letter_is_element;
          assumption]. }
      rewrite (Hwritten (letter m (nth 0 word 0)) 0).
      + unfold correct. f_equal. rewrite Hvalue. apply identity_right; [assumption | apply letter_is_element;
          assumption].
      + assumption.
      + split; [|split].
        * unfold token. replace (child n (side_number left_side) (n + 0)) with 0 by (rewrite Hone; reflexivity).
          unfold tokens. rewrite token_of_letter by (fold n; lia). apply letter_stands_for, letter_is_known. lia.
        * unfold token. replace (child n (side_number right_side) (n + 0)) with (n + 0) by (rewrite Hone; reflexivity).
          unfold tokens. rewrite token_of_slot by assumption. rewrite Hmask. apply mask_stands_for_identity.
        * intro Hwaits. destruct (Nat.ltb_spec 1 n); [lia | discriminate].
  Qed.

  Lemma run_progress : forall step_number,
    exists canvas, run p e (tree_model p m c n) word step_number = Some canvas /\ progress step_number canvas.
  Proof.
    induction step_number as [|step_number [canvas [Hrun Hprogress]]].
    - exists (repeat (mask_symbol m) (slots n)). split; [reflexivity | apply start_progress].
    - destruct (step_progress _ _ Hprogress) as [next [Hstep Hnext]]. exists next. split; [|assumption].
      cbn [run]. rewrite Hrun. assumption.
  Qed.
End Regular.

(** The last slot holds the verdict: after max (1, ⌈log2 N⌉) steps from max (1, N - 1) masks, and after any more. *)
Theorem regular_language_is_decided : forall p (e : exponential p) m c word number_of_steps,
  (2 <= p)%Z -> lawful m -> codes m c -> is_word m word -> 1 <= length word -> steps (length word) <= number_of_steps ->
  exists canvas, run p e (tree_model p m c (length word)) word number_of_steps = Some canvas
                 /\ length canvas = slots (length word)
                 /\ last canvas (mask_symbol m) = verdict m (element_of_word m word).
Proof.
  intros p e m c word t Hp laws coded Hword Hlength Ht.
  destruct (run_progress p e m c word Hp laws coded Hword Hlength t) as [canvas [Hrun [Hslots Hprogress]]].
  exists canvas. split; [assumption|]. split; [assumption|].
  set (n := length word) in *. assert (Hpositive : 1 <= slots n) by (unfold slots; lia).
  assert (Hlast : last canvas (mask_symbol m) = nth (slots n - 1) canvas (mask_symbol m)).
  { rewrite <- Hslots. clear. induction canvas as [|a canvas IH]; [reflexivity|].
    destruct canvas as [|b canvas]; [reflexivity|].
    change (last (a :: b :: canvas) (mask_symbol m)) with (last (b :: canvas) (mask_symbol m)). rewrite IH. simpl.
    rewrite Nat.sub_0_r. reflexivity. }
  rewrite Hlast. unfold steps in Ht. destruct (Hprogress (slots n - 1) ltac:(lia)) as [H|[_ H]].
  - rewrite H. unfold correct, slot_value, chosen, is_last. fold n.
    replace (n + (slots n - 1)) with (n + slots n - 1) by lia. rewrite Nat.eqb_refl. reflexivity.
  - fold n in H. exfalso. destruct (Nat.leb_spec 2 n); [|lia].
    pose proof (all_written_after_log n t ltac:(lia)). unfold slots in H. lia.
Qed.

(** The coding by table works for every monoid, so that nothing is left to suppose. *)
Corollary every_monoid_is_decided : forall p (e : exponential p) m word,
  (2 <= p)%Z -> lawful m -> is_word m word -> 1 <= length word ->
  exists canvas, run p e (tree_model p m (table_coding m) (length word)) word (steps (length word)) = Some canvas
                 /\ length canvas = slots (length word)
                 /\ last canvas (mask_symbol m) = verdict m (element_of_word m word).
Proof.
  intros p e m word Hp laws Hword Hlength. apply regular_language_is_decided; try assumption; [|reflexivity].
  apply table_coding_codes. assumption.
Qed.

(** In words of an automaton whose states the monoid follows: accept if it accepts, else reject. *)
Corollary automaton_is_decided : forall p (e : exponential p) m c a states word,
  (2 <= p)%Z -> lawful m -> codes m c -> follows m a states = true -> is_word m word -> 1 <= length word ->
  exists canvas, run p e (tree_model p m c (length word)) word (steps (length word)) = Some canvas
                 /\ length canvas = slots (length word)
                 /\ last canvas (mask_symbol m) = if accepts a word then accept_symbol m else reject_symbol m.
Proof.
  intros p e m c a states word Hp laws coded Hfollows Hword Hlength.
  rewrite <- (recognises_the_language m a states word) by assumption.
  apply regular_language_is_decided; try assumption. reflexivity.
Qed.

(** Hence every regular language: any automaton on any number of letters, by the maps of its states. *)
Corollary every_automaton_is_decided : forall p (e : exponential p) a alphabet word,
  (2 <= p)%Z -> well_formed a -> Forall (fun t => t < alphabet) word -> 1 <= length word ->
  let m := transformations a alphabet in
  exists canvas, run p e (tree_model p m (table_coding m) (length word)) word (steps (length word)) = Some canvas
                 /\ length canvas = slots (length word)
                 /\ last canvas (mask_symbol m) = if accepts a word then accept_symbol m else reject_symbol m.
Proof.
  intros p e a alphabet word Hp Ha Hword Hlength m. pose proof (transformations_are_a_monoid a alphabet Ha) as laws.
  apply automaton_is_decided with (states := ends_of a); try assumption.
  - apply table_coding_codes. assumption.
  - apply transformations_follow. assumption.
  - unfold is_word, m. rewrite letters_of_transformations. assumption.
Qed.

(** With e^x itself, if there is a function that rounds it correctly (ExponentialTables.v has those for p = 1 … 4), and
    the coding by table. *)
Corollary decided_with_e_to_the_x : forall p (positive : (1 <= p)%Z) f (rounded : correctly_rounded p f) m word,
  (2 <= p)%Z -> lawful m -> is_word m word -> 1 <= length word ->
  exists canvas,
    run p (exponential_of_rounding p positive f rounded) (tree_model p m (table_coding m) (length word)) word
        (steps (length word)) = Some canvas
    /\ length canvas = slots (length word)
    /\ last canvas (mask_symbol m) = verdict m (element_of_word m word).
Proof. intros. apply every_monoid_is_decided; assumption. Qed.

(** The same as a statement about the class MDM[log N, N], which asks for a width of O(log N): steps, slots, alphabet,
    width, layers and heads at once. *)
Definition heads_of (t : transformer) : list nat := map (fun l => length (heads l)) (layers t).

Lemma bits_of_rows : forall n, 2 <= n -> bits_for (n + slots n) <= Nat.log2 n + 2.
Proof.
  intros n Hn. unfold bits_for, slots. replace (n + Nat.max 1 (n - 1) - 1) with (2 * (n - 1)) by lia.
  rewrite Nat.log2_double by lia. pose proof (Nat.log2_le_mono (n - 1) n ltac:(lia)). lia.
Qed.

Lemma planner_is_narrow : forall n, 2 <= n ->
  planner_width (n + slots n) (tree_children n) <= 3 * Nat.log2 n + 12.
Proof.
  intros n Hn. pose proof (bits_of_rows n Hn) as H. unfold tree_children.
  destruct (Nat.ltb_spec 1 n); [|lia]. unfold planner_width, address_column, address_bits. cbn [length]. lia.
Qed.

Lemma predictor_is_narrow : forall m n, 2 <= n ->
  width m (table_coding m) (n + slots n) <= 3 * Nat.log2 n + 17 + 7 * size m.
Proof.
  intros m n Hn. pose proof (bits_of_rows n Hn) as H. unfold width, accepted, factors_end, bits.
  cbn [left_features right_features table_coding]. lia.
Qed.

Corollary regular_languages_are_in_MDM_log_N : forall p (e : exponential p) a alphabet word,
  (2 <= p)%Z -> well_formed a -> Forall (fun t => t < alphabet) word -> 2 <= length word ->
  let n := length word in
  let m := transformations a alphabet in
  let model := tree_model p m (table_coding m) n in
  (exists canvas, run p e model word (Nat.log2_up n) = Some canvas
                  /\ length canvas = n - 1
                  /\ last canvas (mask_symbol m) = if accepts a word then accept_symbol m else reject_symbol m)
  /\ (exists width, width <= 3 * Nat.log2 n + 12 /\ has_shape p (symbols m) (n + slots n) 2 width (planner model))
  /\ (exists width, width <= 3 * Nat.log2 n + 17 + 7 * size m
                    /\ has_shape p (symbols m) (n + slots n) (symbols m) width (predictor model))
  /\ heads_of (planner model) = [2] /\ heads_of (predictor model) = [2; 0].
Proof.
  intros p e a alphabet word Hp Ha Hword Hlength n m model.
  assert (Hpositive : (1 <= p)%Z) by lia. split; [|split; [|split; [|split]]].
  - destruct (every_automaton_is_decided p e a alphabet word Hp Ha Hword ltac:(lia)) as [canvas [Hrun [Hslots Hlast]]].
    exists canvas. fold n m in Hrun, Hslots, Hlast. fold model in Hrun.
    assert (Hsteps : steps n = Nat.log2_up n).
    { unfold steps. pose proof (Nat.log2_up_pos n ltac:(unfold n; lia)). lia. }
    rewrite Hsteps in Hrun. split; [assumption|]. split; [|assumption].
    rewrite Hslots. unfold slots. fold n in Hlength. lia.
  - eexists. split; [apply planner_is_narrow; assumption|]. apply planner_has_shape. assumption.
  - eexists. split; [apply predictor_is_narrow; assumption|]. apply predictor_has_shape. assumption.
  - unfold heads_of, model, tree_model, tree_children. cbn [planner]. fold n in Hlength.
    destruct (Nat.ltb_spec 1 n); [reflexivity|lia].
  - reflexivity.
Qed.
