(** How a transformer is written down as forms: one embedding per symbol, a function of position and column, layers of
    heads and units, one output form per symbol. And what its rows hold before the first layer. *)

From Coq Require Import ZArith Lia List Arith Sorting.Sorted.
From Unmask Require Import Numbers Sums Exponential Layer Forms LayerRows Diffusion.
Import ListNotations.
Open Scope Z_scope.

Definition transformer_of (width symbols rows outputs : nat)
    (embedding : nat -> form) (position : nat -> nat -> Z) (layers : list layer)
    (output : nat -> form) : transformer := {|
  embed := map (fun symbol => dense width (embedding symbol)) (seq 0 symbols);
  positions := map (fun i => map (position i) (seq 0 width)) (seq 0 rows);
  layers := layers;
  out := map (fun symbol => dense width (output symbol)) (seq 0 outputs) |}.

Lemma nth_map_seq : forall (A : Type) (f : nat -> A) n i d, (i < n)%nat -> nth i (map f (seq 0 n)) d = f i.
Proof.
  intros A f n i d H. rewrite (nth_indep (map f (seq 0 n)) d (f 0%nat)) by (rewrite map_length, seq_length; assumption).
  rewrite map_nth, seq_nth by assumption. reflexivity.
Qed.

Lemma nth_map : forall (A B : Type) (f : A -> B) l i d d', (i < length l)%nat -> nth i (map f l) d = f (nth i l d').
Proof.
  intros A B f l i d d' H. rewrite (nth_indep (map f l) d (f d')) by (rewrite map_length; assumption). apply map_nth.
Qed.

Lemma nth_zip_with : forall (A B C : Type) (f : A -> B -> C) xs ys i a b c,
  (i < length xs)%nat -> (i < length ys)%nat -> nth i (zip_with f xs ys) c = f (nth i xs a) (nth i ys b).
Proof.
  intros A B C f xs. induction xs as [|x xs IH]; intros ys i a b c Hx Hy; simpl in Hx; [lia|].
  destruct ys as [|y ys]; simpl in Hy; [lia|]. destruct i as [|i]; [reflexivity|].
  apply (IH ys i a b c); lia.
Qed.

Lemma dense_length : forall width f, length (dense width f) = width.
Proof. intros. unfold dense. rewrite map_length, seq_length. reflexivity. Qed.

Lemma at_dense : forall width f k, (k < width)%nat -> at_column (dense width f) k = coefficient f k.
Proof. intros. apply at_map_seq. assumption. Qed.

Section Embedded.
  Variable p : Z.
  Hypothesis p_positive : 1 <= p.
  Variables (width symbols rows outputs : nat) (embedding : nat -> form) (position : nat -> nat -> Z)
            (ls : list layer) (output : nat -> form) (tokens : list nat).
  Hypothesis length_tokens : length tokens = rows.
  Hypothesis known_tokens : forall i, (i < rows)%nat -> (nth i tokens 0 < symbols)%nat.

  Let t : transformer := transformer_of width symbols rows outputs embedding position ls output.

  Lemma embedded_length : length (embedded p t tokens) = rows.
  Proof.
    unfold embedded, zip_with. rewrite map_length, combine_length. unfold t, transformer_of. simpl.
    rewrite map_length, seq_length. lia.
  Qed.

  Lemma embedded_row : forall i, (i < rows)%nat ->
    nth i (embedded p t tokens) []
    = plus p (dense width (embedding (nth i tokens 0%nat))) (map (position i) (seq 0 width)).
  Proof.
    intros i Hi. unfold embedded.
    rewrite (nth_zip_with nat vector vector _ _ _ _ 0%nat []).
    - unfold t, transformer_of. simpl. rewrite !nth_map_seq by auto. reflexivity.
    - lia.
    - unfold t, transformer_of. simpl. rewrite map_length, seq_length. assumption.
  Qed.

  Lemma embedded_row_length : forall i, (i < rows)%nat -> length (nth i (embedded p t tokens) []) = width.
  Proof.
    intros i Hi. rewrite embedded_row by assumption. rewrite plus_length; rewrite dense_length; [reflexivity|].
    rewrite map_length, seq_length. reflexivity.
  Qed.

  Lemma at_embedded : forall i c, (i < rows)%nat -> (c < width)%nat ->
    at_column (nth i (embedded p t tokens) []) c
    = add p (coefficient (embedding (nth i tokens 0%nat)) c) (position i c).
  Proof.
    intros i c Hi Hc. rewrite embedded_row by assumption.
    rewrite at_plus; rewrite ?dense_length; rewrite ?map_length, ?seq_length; try assumption; try reflexivity.
    rewrite at_dense, at_map_seq by assumption. reflexivity.
  Qed.
End Embedded.

(** Increasing lists of columns. *)
Lemma sorted_map_seq : forall (f : nat -> nat) n first, (forall i j, (i < j)%nat -> (f i < f j)%nat) ->
  StronglySorted lt (map f (seq first n)).
Proof.
  intros f n first H. revert first. induction n as [|n IH]; intro first; simpl; constructor; [apply IH|].
  apply Forall_forall. intros k Hk. apply in_map_iff in Hk. destruct Hk as [j [<- Hj]]. apply in_seq in Hj. apply H.
  lia.
Qed.

(** The output of a row: one inner product per symbol. *)
Lemma output_logit : forall p width outputs (output : nat -> form) h symbol,
  1 <= p -> (symbol < outputs)%nat -> length h = width -> fits width (output symbol) ->
  nth symbol (times p h (map (fun s => dense width (output s)) (seq 0 outputs))) 0 = apply_form p (output symbol) h.
Proof.
  intros p width outputs output h symbol Hp Hs Hlength Hfits. unfold times. rewrite map_map.
  rewrite nth_map_seq by assumption. apply inner_dense; assumption.
Qed.

Lemma mlp_output_length : forall p width units output g, length (mlp_output p (mlp_of width units output) g) = width.
Proof.
  intros. unfold mlp_output, plus, times, zip_with. simpl. rewrite !map_length, combine_length, !map_length, seq_length.
  lia.
Qed.

Lemma forallb_map : forall (A B : Type) (test : B -> bool) (f : A -> B) l,
  forallb test (map f l) = forallb (fun x => test (f x)) l.
Proof. intros A B test f l. induction l as [|x l IH]; simpl; [reflexivity|]. rewrite IH. reflexivity. Qed.

Lemma forallb_ext_in : forall (A : Type) (test test' : A -> bool) l, (forall x, In x l -> test x = test' x) ->
  forallb test l = forallb test' l.
Proof.
  intros A test test' l. induction l as [|x l IH]; intro H; simpl; [reflexivity|].
  rewrite IH by (intros; apply H; right; assumption). rewrite H by (left; reflexivity). reflexivity.
Qed.

Lemma Forall2_map : forall (A B C : Type) (R : B -> C -> Prop) (f : A -> B) (g : A -> C) l,
  (forall x, In x l -> R (f x) (g x)) -> Forall2 R (map f l) (map g l).
Proof.
  intros A B C R f g l. induction l as [|x l IH]; intro H; simpl; constructor.
  - apply H. left. reflexivity.
  - apply IH. intros. apply H. right. assumption.
Qed.
