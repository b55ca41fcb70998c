(** The weights of the model are matrices of numbers of F_p: every row and column has its full length, so that nothing
    is cut off where two lists are joined, which stops with the shorter one; and every entry is representable.

    embed [V, D], pos [S, D], out [V or 2, D];  wq, wk [D, d], wv [D, D];  w1 [D, H], b1 [H], w2 [H, D], b2 [D] *)

From Coq Require Import ZArith Lia List Bool Arith.
From Unmask Require Import Numbers Layer Forms Match GadgetEq GadgetLogic GadgetBuffers Diffusion Codes Programs.
From Unmask Require Import Monoid Vocabulary Coding Tree Planner Predictor Model.
Import ListNotations.
Open Scope Z_scope.

Section Shapes.
  Variable p : Z.

  Definition numbers (size : nat) (x : vector) : Prop := length x = size /\ Forall (representable p) x.

  (** [count] vectors of [size] numbers each: a matrix by its rows or by its columns. *)
  Definition matrix (count size : nat) (vectors : list vector) : Prop :=
    length vectors = count /\ Forall (numbers size) vectors.

  Definition head_has_shape (width : nat) (h : head) : Prop :=
    exists d, matrix d width (wq h) /\ matrix d width (wk h) /\ matrix width width (wv h).
  Definition mlp_has_shape (width : nat) (f : mlp) : Prop :=
    exists hidden, matrix hidden width (w1 f) /\ numbers hidden (b1 f) /\ matrix width hidden (w2 f)
                   /\ numbers width (b2 f).
  Definition layer_has_shape (width : nat) (l : layer) : Prop :=
    Forall (head_has_shape width) (heads l) /\ mlp_has_shape width (feed_forward l).
  Definition has_shape (symbols rows outputs width : nat) (t : transformer) : Prop :=
    matrix symbols width (embed t) /\ matrix rows width (positions t) /\ matrix outputs width (out t)
    /\ Forall (layer_has_shape width) (layers t).

  Hypothesis p_positive : 1 <= p.

  Definition in_format (f : form) : Prop := Forall (fun term => representable p (snd term)) f.
  Definition unit_in_format (u : unit_pair) : Prop := in_format (fst u) /\ representable p (snd u).
  Definition column_in_format (c : column_pair) : Prop := in_format (fst c) /\ in_format (snd c).

  Lemma coefficient_in_format : forall f k, in_format f -> representable p (coefficient f k).
  Proof.
    intros f k H. induction f as [|[column weight] f IH]; [apply zero_representable; assumption|].
    inversion H; subst. simpl. destruct (Nat.eqb column k); auto.
  Qed.

  Lemma dense_numbers : forall width f, in_format f -> numbers width (dense width f).
  Proof.
    intros width f H. split; [apply dense_length|]. apply Forall_map, Forall_forall. intros k _.
    apply coefficient_in_format. assumption.
  Qed.

  Lemma matrix_of : forall (A : Type) (f : A -> vector) xs size, Forall (fun x => numbers size (f x)) xs ->
    matrix (length xs) size (map f xs).
  Proof. intros. split; [apply map_length | apply Forall_map; assumption]. Qed.

  Lemma matrix_of_range : forall (f : nat -> vector) count size, (forall k, numbers size (f k)) ->
    matrix count size (map f (seq 0 count)).
  Proof.
    intros f count size H. rewrite <- (seq_length count 0) at 1. apply matrix_of, Forall_forall. intros k _. apply H.
  Qed.

  Lemma head_of_has_shape : forall width columns value, Forall column_in_format columns ->
    (forall k, in_format (value k)) -> head_has_shape width (head_of width columns value).
  Proof.
    intros width columns value Hcolumns Hvalue. exists (length columns).
    split; [|split];
      [apply matrix_of | apply matrix_of | apply matrix_of_range; intro; apply dense_numbers; apply Hvalue];
      (eapply Forall_impl; [|exact Hcolumns]); intros c [Hq Hk]; apply dense_numbers; assumption.
  Qed.

  Lemma mlp_of_has_shape : forall width units output, Forall unit_in_format units ->
    (forall k, unit_in_format (output k)) -> mlp_has_shape width (mlp_of width units output).
  Proof.
    intros width units output Hunits Houtput. exists (length units). split; [|split; [|split]].
    - apply matrix_of. eapply Forall_impl; [|exact Hunits]. intros u [H _]. apply dense_numbers. assumption.
    - split; [apply map_length|]. apply Forall_map. eapply Forall_impl; [|exact Hunits]. intros u [_ H]. assumption.
    - apply matrix_of_range. intro k. apply dense_numbers. apply Houtput.
    - split; [cbn; rewrite map_length; apply seq_length|]. apply Forall_map, Forall_forall. intros k _. apply Houtput.
  Qed.

  Lemma transformer_of_has_shape : forall width symbols rows outputs embedding position ls output,
    (forall k, in_format (embedding k)) -> (forall i k, representable p (position i k)) ->
    (forall k, in_format (output k)) -> Forall (layer_has_shape width) ls ->
    has_shape symbols rows outputs width (transformer_of width symbols rows outputs embedding position ls output).
  Proof.
    intros width symbols rows outputs embedding position ls output He Hp Ho Hl. split; [|split; [|split]].
    - apply matrix_of_range. intro k. apply dense_numbers. apply He.
    - apply matrix_of_range. intro i. split; [rewrite map_length; apply seq_length|].
      apply Forall_map, Forall_forall. intros k _. apply Hp.
    - apply matrix_of_range. intro k. apply dense_numbers. apply Ho.
    - assumption.
  Qed.

  Lemma minus_one_representable : representable p (- one p).
  Proof. apply opposite_representable, one_representable. assumption. Qed.
  Lemma minus_bound_representable : representable p (- bound p).
  Proof. apply opposite_representable, bound_representable. assumption. Qed.

  Local Hint Resolve zero_representable one_representable bound_representable minus_one_representable
    minus_bound_representable p_positive : format.
  Ltac listed := unfold in_format; cbn [fst snd];
    repeat match goal with |- Forall _ (_ :: _) => apply Forall_cons; [cbn [fst snd]; auto with format|] end;
    apply Forall_nil.

  Lemma same_weight : forall weight (column : nat -> nat) xs, representable p weight ->
    in_format (map (fun k => (column k, weight)) xs).
  Proof. intros. apply Forall_map, Forall_forall. intros k _. assumption. Qed.

  Lemma eq_in_format : forall always a b, Forall column_in_format (eq_columns p always a b).
  Proof.
    intros always a b. apply Forall_flat_map, Forall_forall. intros bit _.
    repeat (apply Forall_cons; [split; listed|]). apply Forall_nil.
  Qed.

  Lemma signed_bit_representable : forall bits number i, representable p (signed_bit p bits number i).
  Proof. intros. unfold signed_bit. destruct (Nat.testbit _ _); auto with format. Qed.

  Lemma copy_in_format : forall source first size k, in_format (copy_block source first size (one p) k).
  Proof. intros. unfold copy_block. destruct (_ && _)%bool; listed. Qed.

  Lemma nor_in_format : forall inputs, unit_in_format (nor_unit p inputs).
  Proof.
    intros. split; [apply (same_weight _ (fun k => k)); auto with format | apply one_representable; assumption].
  Qed.

  Lemma and_in_format : forall before literal after, unit_in_format (and_unit p before literal after).
  Proof.
    intros. split; [|cbn; auto with format]. apply Forall_app.
    split; [apply (same_weight _ (fun k => k)); auto with format|].
    apply Forall_cons; [cbn; auto with format | apply (same_weight _ (fun k => k)); auto with format].
  Qed.

  Lemma planner_has_shape : forall symbols mask rows children,
    has_shape symbols rows 2 (planner_width rows children) (readiness_planner p symbols mask rows children).
  Proof.
    intros symbols mask rows children. apply transformer_of_has_shape.
    - intro k. unfold planner_embedding. destruct (Nat.eqb k mask); listed.
    - intros i k. unfold planner_position.
      repeat match goal with |- context [if ?b then _ else _] => destruct b end;
        cbv zeta; repeat match goal with |- context [if ?b then _ else _] => destruct b end;
        auto using signed_bit_representable with format.
    - intro k. unfold planner_output, representable, in_format. pose proof (bound_positive p p_positive).
      destruct (Nat.eqb k 1); repeat (apply Forall_cons; [cbn [snd]; unfold representable; lia|]); apply Forall_nil.
    - apply Forall_cons; [|apply Forall_nil]. split.
      + apply Forall_map, Forall_forall. intros t _. apply head_of_has_shape; [apply eq_in_format|].
        intro k. destruct (Nat.eqb k (fetched_column rows t)); listed.
      + apply mlp_of_has_shape; [apply Forall_cons; [apply and_in_format | apply Forall_nil]|].
        intro k. destruct ((k =? take_column) || (k =? take_column + 1))%nat; split; cbn [fst snd];
          auto with format; listed.
  Qed.

  Lemma predictor_has_shape : forall m c rows waits factor,
    has_shape (symbols m) rows (symbols m) (width m c rows) (product_predictor p m c rows waits factor).
  Proof.
    intros m c rows waits factor. apply transformer_of_has_shape.
    - intro k. unfold predictor_embedding. destruct (element_of m k); [|apply Forall_nil].
      apply Forall_app. split; [destruct (Nat.eqb k (mask_symbol m)); listed|].
      apply Forall_app. split; apply (same_weight _ (fun k => _ + k)%nat); auto with format.
    - intros i k. unfold predictor_position.
      repeat match goal with |- context [if ?b then _ else _] => destruct b end;
        auto using signed_bit_representable with format.
    - intro k. unfold predictor_output. destruct (element_of m k); [|destruct (Nat.eqb k (accept_symbol m)); listed].
      destruct (Nat.eqb _ k); listed.
    - apply Forall_cons; [|apply Forall_cons; [|apply Forall_nil]].
      + split.
        * apply Forall_cons; [|apply Forall_cons; [|apply Forall_nil]];
            (apply head_of_has_shape; [apply eq_in_format|]); intro k;
            (destruct (Nat.eqb k _); [listed | apply copy_in_format]).
        * apply mlp_of_has_shape.
          -- apply Forall_app. split; [|apply Forall_cons; [apply nor_in_format | apply Forall_nil]].
             apply Forall_map, Forall_forall. intros [[l r] g] _. unfold triple_unit.
             split; cbn [fst snd]; [listed | auto with format].
          -- intro k. destruct (k =? _)%nat; [split; [listed | cbn; auto with format]|].
             destruct (_ && _)%bool; [apply nor_in_format | split; [apply Forall_nil | cbn; auto with format]].
      + split; [apply Forall_nil|]. apply mlp_of_has_shape.
        * repeat (apply Forall_app; split); apply Forall_map, Forall_forall; intros x _; [apply and_in_format | |];
            unfold verdict_unit; destruct (lacking x); apply and_in_format.
        * assert (Hsum : forall first count, unit_in_format (sum_of_units p first count)).
          { intros. split; [apply (same_weight _ (fun k => k)) |]; cbn [fst snd]; auto with format. }
          intro k. repeat match goal with |- context [if ?b then _ else _] => destruct b end;
            try apply Hsum; split; cbn [fst snd]; auto with format; listed.
  Qed.
End Shapes.

(** For every p >= 1, every monoid and coding, lawful or not, and every N. *)
Theorem model_has_shape : forall p m c n, 1 <= p ->
  exists planner_width predictor_width,
    has_shape p (symbols m) (n + slots n) 2 planner_width (planner (tree_model p m c n))
    /\ has_shape p (symbols m) (n + slots n) (symbols m) predictor_width (predictor (tree_model p m c n)).
Proof.
  intros p m c n Hp. eexists. eexists. split; [apply planner_has_shape | apply predictor_has_shape]; assumption.
Qed.

(** Two rows of which one is shorter are no matrix, though their entries that are not 0 may be those of one. *)
Example ragged_is_no_matrix : ~ matrix 2 2 2 [[0; 0]; [0]].
Proof.
  intros [_ H]. rewrite Forall_forall in H. destruct (H [0]) as [L _]; [right; left; reflexivity | discriminate].
Qed.
