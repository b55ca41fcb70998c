(** EQ and LOOKUP. EQ (a, b): per bit (B·a_i | b_i), (B·one | -one): score 0 if a = b, else exactly -B.

    LOOKUP is EQ with one match: it copies any value of that row exactly. For every p >= 1, every number of bits,
    every number of rows. *)

From Coq Require Import ZArith Lia List Bool.
From Unmask Require Import Numbers Sums Exponential Layer Forms Attention Match.
Import ListNotations.
Open Scope Z_scope.

Section Eq.
  Variable p : Z.
  Hypothesis p_positive : 1 <= p.

  Definition eq_columns (always : nat) (a b : list nat) : list column_pair := match_columns p (bound p) always a b.

  (** After each pair of columns the running sum is 0 or -B. *)
  Lemma eq_running_sum : forall own row bits s, s = 0 \/ s = - bound p ->
    sum_from p s (flat_map (bit_terms (bound p) own row) bits)
    = if (s =? 0) && forallb (fun bit => at_column own (fst bit) =? at_column row (snd bit)) bits then 0 else - bound p.
  Proof.
    intros own row bits. pose proof (bound_positive p p_positive) as HB.
    induction bits as [|bit bits IH]; intros s Hs.
    - simpl. destruct (Z.eqb_spec s 0); simpl; lia.
    - simpl flat_map. unfold sum_from in *. simpl fold_left. unfold add, clip.
      destruct (at_column own (fst bit) =? at_column row (snd bit)) eqn:E; simpl forallb; rewrite E.
      + rewrite IH by (destruct Hs; lia). rewrite andb_true_l. destruct Hs as [-> | ->];
          repeat match goal with |- context [?x =? 0] => destruct (Z.eqb_spec x 0); try lia end; reflexivity.
      + rewrite IH by (destruct Hs; lia). rewrite !andb_false_l, andb_false_r. destruct Hs as [-> | ->];
          match goal with |- context [?x =? 0] => destruct (Z.eqb_spec x 0); try lia end; reflexivity.
  Qed.

  Theorem eq_score : forall always a b own row,
    at_column own always = one p -> at_column row always = one p -> is_code p own a -> is_code p row b ->
    score p (eq_columns always a b) own row = if agree a b own row then 0 else - bound p.
  Proof.
    intros. unfold score, eq_columns. rewrite match_terms by (try apply bound_representable; assumption).
    unfold sum. rewrite eq_running_sum by (left; reflexivity). reflexivity.
  Qed.

  (** The address a of [own] is the key code b of the row number [target], and of no other row. *)
  Definition points_to (width always : nat) (a b : list nat) (own : vector) (rows : list vector) (target : nat) :
    Prop :=
    ((always < width)%nat /\ Forall (fun k => (k < width)%nat) a /\ Forall (fun k => (k < width)%nat) b)
    /\ (length own = width /\ at_column own always = one p /\ is_code p own a)
    /\ (forall row, In row rows -> length row = width /\ at_column row always = one p /\ is_code p row b)
    /\ (target < length rows)%nat
    /\ (forall j, (j < length rows)%nat -> agree a b own (nth j rows []) = Nat.eqb j target).

  Theorem lookup_copies : forall (e : exponential p) width always a b value own rows target,
    points_to width always a b own rows target ->
    attend p e (head_of width (eq_columns always a b) value) own rows
    = Some (map (fun c => inner p (nth target rows []) (dense width (value c))) (seq 0 width)).
  Proof.
    intros e width always a b value own rows target
           [[Halways [Ha Hb]] [[Hlength [Hown Hcode]] [Hrows [Htarget Hunique]]]].
    rewrite attend_unique_row with (target := target); try assumption.
    - unfold times. simpl. rewrite map_map. reflexivity.
    - apply match_fits; assumption.
    - intros row Hrow. apply Hrows. assumption.
    - intros j Hj. destruct (Hrows (nth j rows []) (nth_In _ _ Hj)) as [_ [Hone Hkey]].
      unfold weight_of. rewrite eq_score by assumption. rewrite Hunique by assumption.
      destruct (Nat.eqb j target); [apply exp_zero | apply exp_minus_bound; assumption].
  Qed.

  (** A column that the value map copies arrives exactly, whatever number it holds. *)
  Theorem lookup_value : forall width x source, (source < width)%nat -> length x = width ->
    representable p (at_column x source) -> inner p x (dense width [(source, one p)]) = at_column x source.
  Proof.
    intros width x source Hsource Hlength Hrep.
    rewrite inner_dense by (try apply fits_single; assumption).
    rewrite apply_single by assumption. apply multiply_one; assumption.
  Qed.
End Eq.
