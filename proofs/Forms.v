(** Weights as programs write them: a linear form is a list of (column, coefficient), a head is a list of columns
    (q | k) and a value map, an MLP is a list of units. Dense weights come from them, entry by entry. *)

From Coq Require Import ZArith Lia List Sorting.Sorted Arith.
From Unmask Require Import Numbers Sums Exponential Layer.
Import ListNotations.
Open Scope Z_scope.

Definition form := list (nat * Z).

(** Columns in increasing order, below the width: then the dense product sums the same terms in the same order. *)
Definition fits (width : nat) (f : form) : Prop :=
  StronglySorted lt (map fst f) /\ Forall (fun column => (column < width)%nat) (map fst f).

Fixpoint coefficient (f : form) (k : nat) : Z :=
  match f with
  | [] => 0
  | (column, weight) :: rest => if Nat.eqb column k then weight else coefficient rest k
  end.

Definition dense (width : nat) (f : form) : vector := map (coefficient f) (seq 0 width).

(** SUM over the form's terms of [x_column · weight]. *)
Definition apply_form (p : Z) (f : form) (x : vector) : Z :=
  sum p (map (fun term => multiply p (at_column x (fst term)) (snd term)) f).

Lemma zip_with_map : forall (A B C D : Type) (f : B -> C -> D) (g : A -> B) (h : A -> C) xs,
  zip_with f (map g xs) (map h xs) = map (fun x => f (g x) (h x)) xs.
Proof.
  intros A B C D f g h xs. unfold zip_with. induction xs as [|x xs IH]; simpl; [reflexivity|].
  f_equal. apply IH.
Qed.

Lemma at_map_seq : forall (f : nat -> Z) n k, (k < n)%nat -> at_column (map f (seq 0 n)) k = f k.
Proof.
  intros f n k Hk. unfold at_column.
  rewrite nth_indep with (d' := f 0%nat) by (rewrite map_length, seq_length; assumption).
  rewrite map_nth, seq_nth by assumption. reflexivity.
Qed.

Lemma vector_as_map : forall (x : vector), x = map (at_column x) (seq 0 (length x)).
Proof.
  intro x. apply nth_ext with (d := 0) (d' := 0).
  - rewrite map_length, seq_length. reflexivity.
  - intros n Hn. symmetry. apply (at_map_seq (at_column x)). assumption.
Qed.

Lemma coefficient_outside : forall f k, ~ In k (map fst f) -> coefficient f k = 0.
Proof.
  induction f as [|[column weight] f IH]; intros k Hk; simpl in *; [reflexivity|].
  destruct (Nat.eqb_spec column k); [tauto|]. apply IH. tauto.
Qed.

Lemma map_over_form : forall (g : nat -> Z -> Z) f, StronglySorted lt (map fst f) ->
  map (fun k => g k (coefficient f k)) (map fst f) = map (fun term => g (fst term) (snd term)) f.
Proof.
  intros g f. induction f as [|[column weight] f IH]; intro Hsorted; simpl in *; [reflexivity|].
  inversion Hsorted as [|? ? Hrest Hall]; subst. rewrite Nat.eqb_refl. f_equal.
  rewrite <- (IH Hrest). apply map_ext_in. intros k Hk.
  rewrite Forall_forall in Hall. specialize (Hall k Hk).
  destruct (Nat.eqb_spec column k); [lia | reflexivity].
Qed.

Lemma inner_dense : forall p width f x, 1 <= p -> fits width f -> length x = width ->
  inner p x (dense width f) = apply_form p f x.
Proof.
  intros p width f x Hp [Hsorted Hrange] Hlength. unfold inner, dense.
  rewrite (vector_as_map x), Hlength, zip_with_map.
  rewrite sum_support with (places := map fst f); try assumption.
  - unfold apply_form. f_equal. rewrite (map_over_form (fun k w => multiply p (at_column _ k) w)) by assumption.
    rewrite <- Hlength, <- vector_as_map. reflexivity.
  - intros k Hk. rewrite Forall_forall in Hrange. apply Hrange. assumption.
  - intros k _ Hk. rewrite coefficient_outside by assumption. apply multiply_0_r. assumption.
Qed.

(** One term is one rounded product. *)
Lemma apply_single : forall p k w x, 1 <= p -> apply_form p [(k, w)] x = multiply p (at_column x k) w.
Proof.
  intros p k w x Hp. unfold apply_form, sum. simpl. apply add_0_l. apply multiply_representable. assumption.
Qed.

Lemma fits_single : forall width k w, (k < width)%nat -> fits width [(k, w)].
Proof. intros. split; simpl; repeat constructor. assumption. Qed.

Lemma fits_nil : forall width, fits width [].
Proof. intros. split; constructor. Qed.

(** A head from its columns (q | k) and its value map: the form that is added to each column of the row. *)
Definition column_pair : Type := form * form.
Definition fit (width : nat) (columns : list column_pair) : Prop :=
  Forall (fun c => fits width (fst c) /\ fits width (snd c)) columns.

Definition head_of (width : nat) (columns : list column_pair) (value : nat -> form) : head := {|
  wq := map (fun c => dense width (fst c)) columns;
  wk := map (fun c => dense width (snd c)) columns;
  wv := map (fun target => dense width (value target)) (seq 0 width) |}.

(** What one column adds to the score: ⟨q of the query row, k of the key row⟩. *)
Definition column_term (p : Z) (own row : vector) (c : column_pair) : Z :=
  multiply p (apply_form p (fst c) own) (apply_form p (snd c) row).

(** The score of a key row for a query row: column by column, in order. *)
Definition score (p : Z) (columns : list column_pair) (own row : vector) : Z :=
  sum p (map (column_term p own row) columns).

Lemma score_app : forall p cs ds own row,
  score p (cs ++ ds) own row
  = sum_from p (score p cs own row) (map (column_term p own row) ds).
Proof. intros. unfold score. rewrite map_app, sum_app. reflexivity. Qed.

Lemma score_representable : forall p cs own row, 1 <= p -> representable p (score p cs own row).
Proof. intros. apply sum_representable. assumption. Qed.

Lemma head_scores : forall p width columns value own row,
  1 <= p -> fit width columns -> length own = width -> length row = width ->
  inner p (times p own (wq (head_of width columns value))) (times p row (wk (head_of width columns value)))
  = score p columns own row.
Proof.
  intros p width columns value own row Hp Hfit Hown Hrow. unfold inner, times, score. simpl.
  rewrite !map_map, zip_with_map. f_equal. apply map_ext_in. intros c Hc.
  unfold fit in Hfit. rewrite Forall_forall in Hfit. destruct (Hfit c Hc) as [Hq Hk].
  rewrite !inner_dense by assumption. reflexivity.
Qed.

(** An MLP from its units (form, bias) and from what each column of the row gets (form over the units, bias). *)
Definition unit_pair : Type := form * Z.

Definition mlp_of (width : nat) (units : list unit_pair) (output : nat -> unit_pair) : mlp := {|
  w1 := map (fun u => dense width (fst u)) units;
  b1 := map snd units;
  w2 := map (fun target => dense (length units) (fst (output target))) (seq 0 width);
  b2 := map (fun target => snd (output target)) (seq 0 width) |}.

(** ReLU (form + bias): the product first, the bias last. *)
Definition unit_value (p : Z) (u : unit_pair) (x : vector) : Z := relu (add p (apply_form p (fst u) x) (snd u)).

Lemma hidden_units_of : forall p width units output g,
  1 <= p -> Forall (fun u => fits width (fst u)) units -> length g = width ->
  hidden_units p (mlp_of width units output) g = map (fun u => unit_value p u g) units.
Proof.
  intros p width units output g Hp Hfits Hlength. unfold hidden_units, plus, times. simpl.
  rewrite map_map, zip_with_map, map_map. apply map_ext_in. intros u Hu.
  rewrite Forall_forall in Hfits. rewrite inner_dense by auto. reflexivity.
Qed.

Lemma at_map : forall (A : Type) (f : A -> Z) xs k d, (k < length xs)%nat -> at_column (map f xs) k = f (nth k xs d).
Proof.
  intros A f xs k d Hk. unfold at_column.
  rewrite nth_indep with (d' := f d) by (rewrite map_length; assumption). apply map_nth.
Qed.

(** What the MLP adds to a column: ReLU of the form over the units' values, and the bias. *)
Lemma mlp_output_of : forall p width units output g target,
  1 <= p -> Forall (fun u => fits width (fst u)) units -> length g = width -> (target < width)%nat ->
  fits (length units) (fst (output target)) ->
  at_column (mlp_output p (mlp_of width units output) g) target
  = unit_value p (output target) (map (fun u => unit_value p u g) units).
Proof.
  intros p width units output g target Hp Hfits Hlength Htarget Hout. unfold mlp_output.
  rewrite hidden_units_of by assumption. unfold plus, times. simpl.
  rewrite map_map, zip_with_map, map_map, at_map_seq by assumption.
  rewrite inner_dense; [reflexivity | assumption | assumption | apply map_length].
Qed.

Lemma plus_length : forall p x y, length x = length y -> length (plus p x y) = length x.
Proof. intros. unfold plus, zip_with. rewrite map_length, combine_length. lia. Qed.

Lemma at_plus : forall p x y k, length x = length y -> (k < length x)%nat ->
  at_column (plus p x y) k = add p (at_column x k) (at_column y k).
Proof.
  intros p x y k Hlength Hk. unfold plus.
  rewrite (vector_as_map x), (vector_as_map y), <- Hlength, zip_with_map.
  rewrite !at_map_seq by assumption. reflexivity.
Qed.
