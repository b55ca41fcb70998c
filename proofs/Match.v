(** The columns that compare two codes of signed bits: per bit (scale·a_i | b_i), (scale·one | -one).

    Their terms are +scale - scale for a bit that agrees and -scale - scale for one that differs. *)

From Coq Require Import ZArith Lia List Bool.
From Unmask Require Import Numbers Sums Layer Forms.
Import ListNotations.
Open Scope Z_scope.

Section Match.
  Variable p : Z.
  Hypothesis p_positive : 1 <= p.

  (** [always] is the column that is 1 in every row; [a] are the query's bits, [b] the key's. *)
  Definition match_columns (scale : Z) (always : nat) (a b : list nat) : list column_pair :=
    flat_map (fun bit => [([(fst bit, scale)], [(snd bit, one p)]); ([(always, scale)], [(always, - one p)])])
             (combine a b).

  Definition is_code (row : vector) (columns : list nat) : Prop :=
    Forall (fun k => at_column row k = one p \/ at_column row k = - one p) columns.

  Definition agree (a b : list nat) (own row : vector) : bool :=
    forallb (fun bit => at_column own (fst bit) =? at_column row (snd bit)) (combine a b).

  (** What one bit adds to the score. *)
  Definition bit_terms (scale : Z) (own row : vector) (bit : nat * nat) : list Z :=
    [if at_column own (fst bit) =? at_column row (snd bit) then scale else - scale; - scale].

  Lemma match_terms : forall scale always a b own row,
    representable p scale -> at_column own always = one p -> at_column row always = one p ->
    is_code own a -> is_code row b ->
    map (column_term p own row) (match_columns scale always a b)
    = flat_map (bit_terms scale own row) (combine a b).
  Proof.
    intros scale always a b own row Hscale Hown Hrow Ha. revert b.
    induction Ha as [|k a Hk Ha IH]; intros b Hb; [reflexivity|].
    destruct Hb as [|l b Hl Hb]; [reflexivity|].
    unfold match_columns in *. simpl. rewrite IH by assumption.
    pose proof (one_representable p p_positive) as Hone. pose proof (opposite_representable p _ Hone) as Hminus.
    pose proof (opposite_representable p _ Hscale). pose proof (one_at_least_2 p p_positive).
    unfold bit_terms at 2, column_term at 1 2. simpl. rewrite !apply_single by assumption. rewrite Hown, Hrow.
    rewrite (one_multiply p scale), (multiply_minus_one p (one p)), multiply_minus_one by assumption.
    f_equal. destruct Hk as [Hk|Hk], Hl as [Hl|Hl]; rewrite Hk, Hl.
    - rewrite Z.eqb_refl, one_multiply, (one_multiply p (one p)), multiply_one by assumption. reflexivity.
    - rewrite one_multiply, multiply_one, multiply_minus_one by assumption.
      destruct (Z.eqb_spec (one p) (- one p)); [lia|reflexivity].
    - rewrite minus_one_multiply, (one_multiply p (one p)), multiply_one by assumption.
      destruct (Z.eqb_spec (- one p) (one p)); [lia|reflexivity].
    - rewrite Z.eqb_refl, minus_one_multiply, multiply_one, multiply_minus_one by assumption. lia.
  Qed.

  Lemma match_fits : forall width scale always a b,
    (always < width)%nat -> Forall (fun k => (k < width)%nat) a -> Forall (fun k => (k < width)%nat) b ->
    fit width (match_columns scale always a b).
  Proof.
    intros width scale always a b Halways Ha. revert b.
    induction Ha as [|k a Hk Ha IH]; intros b Hb; [constructor|].
    destruct Hb as [|l b Hl Hb]; [constructor|].
    unfold match_columns in *. simpl. repeat constructor; simpl; try assumption. apply IH. assumption.
  Qed.
End Match.
