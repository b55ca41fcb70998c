(** Logic in one MLP. A unit is ReLU (form + bias), behind a form over the row for hidden units and over the hidden
    units for what a column gets; flags are 0 or 1.

    NOR  = ReLU (1 - Σ x_k)                  any fan-in, p >= 1
    AND  = ReLU (x - Σ y_k)                  one positive literal x in any place, any fan-in, p >= 1 *)

From Coq Require Import ZArith Lia List Bool.
From Unmask Require Import Numbers Flags Sums Layer Forms.
Import ListNotations.
Open Scope Z_scope.
Local Arguments Z.mul : simpl never.

Section Logic.
  Variable p : Z.
  Hypothesis p_positive : 1 <= p.

  Definition negative (inputs : list nat) : form := map (fun k => (k, - one p)) inputs.
  Definition nor_unit (inputs : list nat) : unit_pair := (negative inputs, one p).
  Definition and_unit (before : list nat) (literal : nat) (after : list nat) : unit_pair :=
    (negative before ++ [(literal, one p)] ++ negative after, 0).

  Definition flags (x : vector) (columns : list nat) : Prop := Forall (fun k => is_flag p (at_column x k)) columns.
  Definition none (x : vector) (columns : list nat) : bool := forallb (fun k => at_column x k =? 0) columns.

  Definition negative_terms (x : vector) (inputs : list nat) : list Z :=
    map (fun term => multiply p (at_column x (fst term)) (snd term)) (negative inputs).

  (** Subtracting flags: nothing happens if there are none, otherwise the sum loses at least 1 or ends at -B. *)
  Lemma subtract_flags : forall x inputs s, flags x inputs -> representable p s ->
    if none x inputs then sum_from p s (negative_terms x inputs) = s
    else sum_from p s (negative_terms x inputs) <= Z.max (- bound p) (s - one p).
  Proof.
    intros x inputs. pose proof (one_at_least_2 p p_positive). pose proof (bound_positive p p_positive).
    assert (lower : forall ks s, flags x ks -> representable p s -> sum_from p s (negative_terms x ks) <= s).
    { induction ks as [|k ks IH]; intros s Hf Hs; [simpl; lia|]. inversion Hf as [|? ? Hk Hks]; subst.
      unfold sum_from, negative_terms, negative in *. simpl.
      set (s' := add p s _). assert (representable p s') by (apply add_representable; assumption).
      assert (s' <= s).
      { unfold s'. destruct Hk as [-> | ->]; rewrite ?multiply_0_l, ?multiply_minus_one
          by (try apply one_representable; assumption); unfold add, clip, representable in *; lia. }
      specialize (IH s' Hks H1). lia. }
    induction inputs as [|k inputs IH]; intros s Hf Hs; [reflexivity|].
    inversion Hf as [|? ? Hk Hks]; subst. unfold none. simpl.
    unfold sum_from, negative_terms, negative in *. simpl.
    destruct Hk as [Hk | Hk]; rewrite Hk.
    - rewrite Z.eqb_refl. simpl. rewrite multiply_0_l, add_0_r by assumption. apply IH; assumption.
    - destruct (Z.eqb_spec (one p) 0); [lia|]. simpl.
      rewrite multiply_minus_one by (try apply one_representable; assumption).
      specialize (lower inputs (add p s (- one p)) Hks (add_representable p _ _ p_positive)).
      unfold add, clip, representable in *. lia.
  Qed.

  Theorem nor_is_nor : forall x inputs, flags x inputs ->
    unit_value p (nor_unit inputs) x = if none x inputs then one p else 0.
  Proof.
    intros x inputs Hf. unfold unit_value, nor_unit, apply_form, sum. simpl.
    pose proof (subtract_flags x inputs 0 Hf (zero_representable p p_positive)) as H.
    pose proof (sum_from_representable p (negative_terms x inputs) 0 p_positive (zero_representable p p_positive)) as
      Hr.
    pose proof (one_below_bound p p_positive). pose proof (one_at_least_2 p p_positive).
    fold (negative_terms x inputs). set (r := sum_from p 0 (negative_terms x inputs)) in *. clearbody r.
    unfold relu, add, clip, representable in *. destruct (none x inputs); lia.
  Qed.

  Theorem and_is_and : forall x before literal after, flags x (before ++ literal :: after) ->
    unit_value p (and_unit before literal after) x
    = if (at_column x literal =? one p) && none x (before ++ after) then one p else 0.
  Proof.
    intros x before literal after Hf. unfold flags in Hf. apply Forall_app in Hf. destruct Hf as [Hb Hrest].
    inversion Hrest as [|? ? Hl Ha]; subst.
    unfold unit_value, and_unit, apply_form. simpl. rewrite map_app, sum_app. simpl.
    fold (negative_terms x before). fold (negative_terms x after).
    assert (Hnone : none x (before ++ after) = none x before && none x after) by apply forallb_app.
    rewrite Hnone.
    pose proof (zero_representable p p_positive) as H0.
    pose proof (subtract_flags x before 0 Hb H0) as H1.
    pose proof (sum_from_representable p (negative_terms x before) 0 p_positive H0) as R1.
    unfold sum. set (r := sum_from p 0 (negative_terms x before)) in *. clearbody r.
    assert (Rl : representable p (at_column x literal)).
    { destruct Hl as [-> | ->]; [assumption | apply one_representable; assumption]. }
    rewrite multiply_one by assumption.
    pose proof (add_representable p r (at_column x literal) p_positive) as R2.
    pose proof (subtract_flags x after _ Ha R2) as H2.
    pose proof (sum_from_representable p (negative_terms x after) _ p_positive R2) as R3.
    set (t := sum_from p (add p r (at_column x literal)) (negative_terms x after)) in *. clearbody t.
    pose proof (one_below_bound p p_positive). pose proof (one_at_least_2 p p_positive).
    unfold relu, add, clip, representable in *.
    destruct Hl as [E | E]; rewrite E in *; destruct (none x before), (none x after);
      destruct (Z.eqb_spec (one p) (one p)); destruct (Z.eqb_spec 0 (one p)); cbn [andb]; lia.
  Qed.
End Logic.
