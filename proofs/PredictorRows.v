(** The predictor's rows before the first layer, and what the two heads bring. *)

From Coq Require Import ZArith Lia List Bool Arith Sorting.Sorted.
From Unmask Require Import Numbers Flags Sums Exponential Layer Forms Match GadgetEq GadgetBuffers.
From Unmask Require Import Diffusion Codes Programs Monoid Vocabulary Coding Predictor.
Import ListNotations.
Open Scope Z_scope.

(** The columns of the registers, as numbers. *)
Ltac columns := unfold width, rejected, accepted, product_copy, missing, ready_column, absent, factors_end, fetched,
  own, address, here, masked, inner_row, last_row, always, features in *.

Section Rows.
  Variables (p : Z) (m : monoid) (c : coding) (rows : nat) (waits : bool).
  Variables (factor : side -> nat -> nat) (tokens : list nat).
  Hypothesis p_positive : 1 <= p.
  Hypothesis laws : lawful m.
  Hypothesis coded : codes m c.
  Hypothesis length_tokens : length tokens = rows.
  Hypothesis known_tokens : forall i, (i < rows)%nat -> (nth i tokens 0 < symbols m)%nat.
  Hypothesis factors_are_rows : forall s i, (i < rows)%nat -> (factor s i < rows)%nat.

  Let width := width m c rows.
  Let h := embedded p (product_predictor p m c rows waits factor) tokens.
  Definition token (i : nat) : nat := nth i tokens 0%nat.
  Definition hidden_symbol (i : nat) : bool := Nat.eqb (token i) (mask_symbol m).

  Lemma coefficient_app : forall f f' k, coefficient (f ++ f') k
    = if member k (map fst f) then coefficient f k else coefficient f' k.
  Proof.
    intros f f' k. induction f as [|[column weight] f IH]; simpl; [reflexivity|]. rewrite (Nat.eqb_sym k column).
    destruct (column =? k)%nat; simpl; [reflexivity | assumption].
  Qed.

  Lemma coefficient_shifted : forall first weight l k,
    coefficient (shifted first weight l) k = if ((first <=? k) && member (k - first) l)%nat then weight else 0.
  Proof.
    intros first weight l k. induction l as [|x l IH]; simpl; [rewrite andb_false_r; reflexivity|].
    rewrite IH. destruct (Nat.eqb_spec (first + x) k) as [<-|Hne].
    - destruct (Nat.leb_spec first (first + x)); [|lia]. replace (first + x - first)%nat with x by lia.
      rewrite Nat.eqb_refl. reflexivity.
    - destruct (Nat.leb_spec first k); [|reflexivity]. destruct (Nat.eqb_spec (k - first) x); [lia | reflexivity].
  Qed.

  Lemma member_shifted : forall first weight l k,
    member k (map fst (shifted first weight l)) = ((first <=? k) && member (k - first) l)%nat.
  Proof.
    intros first weight l k. induction l as [|x l IH]; simpl; [rewrite andb_false_r; reflexivity|]. rewrite IH.
    destruct (Nat.eqb_spec k (first + x)) as [->|Hne]; simpl.
    - destruct (Nat.leb_spec first (first + x)); [|lia]. replace (first + x - first)%nat with x by lia.
      rewrite Nat.eqb_refl. reflexivity.
    - destruct (Nat.leb_spec first k); [|reflexivity]. destruct (Nat.eqb_spec (k - first) x); [lia | reflexivity].
  Qed.

  Lemma member_below : forall bound l x, increasing bound l -> (bound <= x)%nat -> member x l = false.
  Proof.
    intros bound l x [_ Hb] Hx. destruct (member x l) eqn:E; [|reflexivity]. apply member_spec in E.
    rewrite Forall_forall in Hb. specialize (Hb x E). lia.
  Qed.

  (** The embedding of a symbol: its mask bit, and the features of its element. *)
  Definition feature (s : side) (symbol g : nat) : bool :=
    match element_of m symbol with Some a => member g (features_of c s a) | None => false end.

  Lemma embedding_column : forall symbol k,
    coefficient (predictor_embedding p m c rows symbol) k
    = if (k =? masked)%nat then flag p (Nat.eqb symbol (mask_symbol m))
      else if ((own c rows left_side <=? k) && (k <? own c rows right_side))%nat
           then flag p (feature left_side symbol (k - own c rows left_side))
      else if ((own c rows right_side <=? k) && (k <? fetched c rows left_side))%nat
           then flag p (feature right_side symbol (k - own c rows right_side))
      else 0.
  Proof.
    intros symbol k. unfold predictor_embedding, feature. destruct (element_of m symbol) as [a|] eqn:E.
    - pose proof (element_is_element m laws symbol a E) as Ha.
      pose proof (left_increasing m c coded a Ha) as HL. pose proof (right_increasing m c coded a Ha) as HR.
      rewrite coefficient_app.
      assert (Hmask : member k (map fst (if Nat.eqb symbol (mask_symbol m) then [(masked, one p)] else []))
                      = (Nat.eqb symbol (mask_symbol m) && (k =? masked)%nat)%bool).
      { destruct (Nat.eqb symbol (mask_symbol m)); simpl; [rewrite orb_false_r|]; reflexivity. }
      rewrite Hmask. clear Hmask. rewrite coefficient_app, member_shifted, !coefficient_shifted.
      destruct (Nat.eqb_spec k masked) as [->|Hne].
      + destruct (Nat.eqb symbol (mask_symbol m)); cbn [andb]; [reflexivity|]. columns.
        destruct (Nat.leb_spec (4 + 3 * bits rows) 3); [lia|].
        destruct (Nat.leb_spec (4 + 3 * bits rows + left_features c) 3); [lia|]. reflexivity.
      + rewrite andb_false_r. columns. cbn [features_of]. unfold flag.
        destruct (Nat.leb_spec (4 + 3 * bits rows) k); cbn [andb].
        * destruct (Nat.ltb_spec k (4 + 3 * bits rows + left_features c)).
          -- destruct (member (k - (4 + 3 * bits rows)) (left_of c a)); [reflexivity|].
             destruct (Nat.leb_spec (4 + 3 * bits rows + left_features c) k); [lia | reflexivity].
          -- rewrite (member_below _ _ _ HL) by lia.
             destruct (Nat.leb_spec (4 + 3 * bits rows + left_features c) k); [|lia]. cbn [andb].
             destruct (Nat.ltb_spec k (4 + 3 * bits rows + left_features c + right_features c)); [reflexivity|].
             rewrite (member_below _ _ _ HR) by lia. reflexivity.
        * destruct (Nat.leb_spec (4 + 3 * bits rows + left_features c) k); [lia|]. reflexivity.
    - simpl. unfold element_of, mask_symbol in E. destruct (Nat.eqb_spec symbol (mask_symbol m)) as [->|].
      + exfalso. pose proof (mask_stands_for_identity m) as H. unfold element_of, mask_symbol in *. rewrite H in E.
        discriminate.
      + destruct (k =? masked)%nat; [reflexivity|]. destruct (_ && _)%bool; [reflexivity|].
        destruct (_ && _)%bool; reflexivity.
  Qed.

  Lemma position_is_representable : forall i k, representable p (predictor_position p c rows factor i k).
  Proof.
    intros i k. unfold predictor_position.
    pose proof (one_representable p p_positive). pose proof (zero_representable p p_positive).
    pose proof (opposite_representable p _ H).
    repeat match goal with |- context [if ?b then _ else _] => destruct b end; try assumption;
      unfold signed_bit; match goal with |- context [if ?b then _ else _] => destruct b end; assumption.
  Qed.

  Lemma at_h : forall i k, (i < rows)%nat -> (k < width)%nat ->
    at_column (nth i h []) k
    = if (k =? masked)%nat then flag p (hidden_symbol i)
      else if (k <? own c rows left_side)%nat then predictor_position p c rows factor i k
      else if (k <? own c rows right_side)%nat then flag p (feature left_side (token i) (k - own c rows left_side))
      else if (k <? fetched c rows left_side)%nat then flag p (feature right_side (token i) (k - own c rows right_side))
      else 0.
  Proof.
    intros i k Hi Hk. unfold h, product_predictor. rewrite at_embedded by assumption.
    rewrite embedding_column. fold (token i). fold (hidden_symbol i).
    pose proof (zero_representable p p_positive).
    destruct (Nat.eqb_spec k masked) as [->|Hm].
    - replace (predictor_position p c rows factor i masked) with 0 by reflexivity.
      apply add_0_r, flag_representable. assumption.
    - destruct (Nat.ltb_spec k (own c rows left_side)) as [Hlt|Hge].
      + destruct (Nat.leb_spec (own c rows left_side) k); [lia|]. cbn [andb].
        destruct (Nat.leb_spec (own c rows right_side) k); [columns; lia|]. cbn [andb].
        apply add_0_l, position_is_representable.
      + replace (predictor_position p c rows factor i k) with 0.
        * destruct (Nat.leb_spec (own c rows left_side) k); [|lia]. cbn [andb].
          destruct (Nat.ltb_spec k (own c rows right_side)) as [Hr|Hr].
          -- apply add_0_r, flag_representable. assumption.
          -- destruct (Nat.leb_spec (own c rows right_side) k); [|lia]. cbn [andb].
             destruct (Nat.ltb_spec k (fetched c rows left_side)); apply add_0_r; [apply flag_representable|];
               assumption.
        * unfold predictor_position. columns.
          repeat match goal with |- context [(?a =? ?b)%nat] => destruct (Nat.eqb_spec a b); [lia|] end.
          repeat match goal with |- context [(?a <? ?b)%nat] => destruct (Nat.ltb_spec a b); [lia|] end. reflexivity.
  Qed.

  Lemma h_length : length h = rows.
  Proof. apply embedded_length. assumption. Qed.

  Lemma h_row_length : forall i, (i < rows)%nat -> length (nth i h []) = width.
  Proof. intros. apply embedded_row_length; assumption. Qed.

  (** An address finds its row. *)
  Lemma factor_is_found : forall s i, (i < rows)%nat ->
    points_to p width always (seq (address rows s) (bits rows)) (seq here (bits rows)) (nth i h []) h (factor s i).
  Proof.
    intros s i Hi.
    assert (code : forall j k number, (j < rows)%nat -> (4 <= k)%nat -> (k + bits rows <= own c rows left_side)%nat ->
              (forall r, (r < bits rows)%nat -> predictor_position p c rows factor j (k + r)
                = signed_bit p (bits rows) number r) ->
              holds_code p (nth j h []) (bits rows) k number).
    { intros j k number Hj Hk Hend Hbits r Hr. rewrite at_h by (try assumption; unfold width; columns; lia).
      destruct (Nat.eqb_spec (k + r) masked); [columns; lia|].
      destruct (Nat.ltb_spec (k + r) (own c rows left_side)); [auto | lia]. }
    assert (Hhere : forall j, (j < rows)%nat -> holds_code p (nth j h []) (bits rows) here j).
    { intros j Hj. apply code; try assumption; try (columns; lia). intros r Hr. unfold predictor_position. columns.
      repeat match goal with |- context [(?a =? ?b)%nat] => destruct (Nat.eqb_spec a b); [lia|] end.
      destruct (Nat.ltb_spec (4 + r) (4 + bits rows)); [|lia]. f_equal. lia. }
    assert (Haddress : holds_code p (nth i h []) (bits rows) (address rows s) (factor s i)).
    { apply code; try assumption; try (destruct s; columns; lia). intros r Hr. unfold predictor_position.
      destruct s; columns;
        repeat match goal with |- context [(?a =? ?b)%nat] => destruct (Nat.eqb_spec a b); [lia|] end.
      - destruct (Nat.ltb_spec (4 + bits rows + r) (4 + bits rows)); [lia|].
        destruct (Nat.ltb_spec (4 + bits rows + r) (4 + 2 * bits rows)); [|lia]. f_equal. lia.
      - destruct (Nat.ltb_spec (4 + 2 * bits rows + r) (4 + bits rows)); [lia|].
        destruct (Nat.ltb_spec (4 + 2 * bits rows + r) (4 + 2 * bits rows)); [lia|].
        destruct (Nat.ltb_spec (4 + 2 * bits rows + r) (4 + 3 * bits rows)); [|lia]. f_equal. lia. }
    assert (Hone : forall j, (j < rows)%nat -> at_column (nth j h []) always = one p).
    { intros j Hj. rewrite at_h by (try assumption; unfold width; columns; lia). reflexivity. }
    apply address_points_to; rewrite ?h_length; auto; try (unfold width; destruct s; columns; lia).
    - apply codes_suffice.
    - intros j Hj. auto using h_row_length.
    - apply h_row_length. assumption.
  Qed.

  (** What the head of one side gives to row i. *)
  Definition brought (s : side) (i : nat) : vector :=
    map (fun k => inner p (nth (factor s i) h [])
           (dense width (if Nat.eqb k (absent c rows s) then [(masked, one p)]
                         else copy_block (own c rows s) (fetched c rows s) (features c s) (one p) k)))
        (seq 0 width).

  Lemma at_brought : forall s i k, (i < rows)%nat -> (k < width)%nat ->
    at_column (brought s i) k
    = if Nat.eqb k (absent c rows s) then flag p (hidden_symbol (factor s i))
      else if ((fetched c rows s <=? k) && (k <? fetched c rows s + features c s))%nat
           then flag p (feature s (token (factor s i)) (k - fetched c rows s))
      else 0.
  Proof.
    intros s i k Hi Hk. pose proof (factors_are_rows s i Hi) as Hf. unfold brought. rewrite at_map_seq by assumption.
    destruct (Nat.eqb k (absent c rows s)).
    - rewrite inner_dense by (try apply h_row_length; try apply fits_single; try assumption; unfold width; columns;
        lia).
      rewrite apply_single by assumption. rewrite at_h by (try assumption; unfold width; columns; lia).
      rewrite Nat.eqb_refl. apply multiply_one; [assumption | apply flag_representable; assumption].
    - unfold copy_block. destruct ((fetched c rows s <=? k) && (k <? fetched c rows s + features c s))%nat eqn:E.
      + apply andb_true_iff in E. destruct E as [E1 E2]. apply Nat.leb_le in E1. apply Nat.ltb_lt in E2.
        set (g := (k - fetched c rows s)%nat).
        assert (Hg : (g < features c s)%nat) by (unfold g; lia).
        assert (Hcol : (own c rows s + g < width)%nat) by (unfold width; destruct s; columns; lia).
        rewrite inner_dense by (try apply h_row_length; try apply fits_single; assumption).
        rewrite apply_single, at_h by assumption.
        destruct (Nat.eqb_spec (own c rows s + g) masked); [destruct s; columns; lia|].
        destruct (Nat.ltb_spec (own c rows s + g) (own c rows left_side)); [destruct s; columns; lia|].
        destruct s.
        * destruct (Nat.ltb_spec (own c rows left_side + g) (own c rows right_side)); [|columns; lia].
          replace (own c rows left_side + g - own c rows left_side)%nat with g by lia.
          apply multiply_one; [assumption | apply flag_representable; assumption].
        * destruct (Nat.ltb_spec (own c rows right_side + g) (own c rows right_side)); [lia|].
          destruct (Nat.ltb_spec (own c rows right_side + g) (fetched c rows left_side)); [|columns; lia].
          replace (own c rows right_side + g - own c rows right_side)%nat with g by lia.
          apply multiply_one; [assumption | apply flag_representable; assumption].
      + rewrite inner_dense by (try apply h_row_length; try apply fits_nil; assumption). reflexivity.
  Qed.
End Rows.
