(** Two buffers: overwrite any numbers without clipping.

    layer:  other <- 0 + source of the attended row,    current <- current - current = 0

    One head looks the new contents up and writes them into the buffer that is 0, a SELF head clears the other one.
    For every p >= 1, any numbers of F_p, any number of columns and rows. *)

From Coq Require Import ZArith Lia List Bool Arith.
From Unmask Require Import Numbers Sums Exponential Layer Forms Match GadgetEq LayerRows.
Import ListNotations.
Open Scope Z_scope.

Section Buffers.
  Variable p : Z.
  Hypothesis p_positive : 1 <= p.

  (** Column [first + t] gets weight times column [source + t], for t < size. *)
  Definition copy_block (source first size : nat) (weight : Z) (c : nat) : form :=
    if ((first <=? c) && (c <? first + size))%nat then [((source + (c - first))%nat, weight)] else [].

  Definition no_mlp (width : nat) : mlp := mlp_of width [] (fun _ => ([], 0)).

  (** [self] is the own address, which no two rows share. *)
  Definition overwrite_layer (width always : nat) (a b self : list nat) (source current other size : nat) : layer := {|
    heads := [head_of width (eq_columns p always a b) (copy_block source other size (one p));
              head_of width (eq_columns p always self self) (copy_block current current size (- one p))];
    feed_forward := no_mlp width |}.

  Lemma at_copy_block : forall width source first size weight x c,
    (source + size <= width)%nat -> (c < width)%nat -> length x = width ->
    at_column (map (fun c => inner p x (dense width (copy_block source first size weight c))) (seq 0 width)) c
    = if ((first <=? c) && (c <? first + size))%nat then multiply p (at_column x (source + (c - first))) weight else 0.
  Proof.
    intros width source first size weight x c Hsource Hc Hlength. rewrite at_map_seq by assumption. unfold copy_block.
    destruct ((first <=? c) && (c <? first + size))%nat eqn:E.
    - apply andb_true_iff in E. destruct E as [E1 E2]. apply Nat.leb_le in E1. apply Nat.ltb_lt in E2.
      rewrite inner_dense by (try apply fits_single; try assumption; lia). apply apply_single. assumption.
    - rewrite inner_dense by (try apply fits_nil; assumption). reflexivity.
  Qed.

  Lemma no_mlp_adds_nothing : forall width g c, length g = width -> (c < width)%nat ->
    at_column (mlp_output p (no_mlp width) g) c = 0.
  Proof.
    intros width g c Hlength Hc. unfold no_mlp. rewrite mlp_output_of; try assumption; try constructor.
    - unfold unit_value, apply_form. simpl. unfold relu, add, sum, sum_from. simpl.
      rewrite clip_identity by (apply zero_representable; assumption). reflexivity.
    - constructor.
    - constructor.
  Qed.

  Theorem two_buffers_overwrite :
    forall (e : exponential p) width always a b self source current other size own rows target here,
    (source + size <= width)%nat -> (current + size <= width)%nat -> (other + size <= width)%nat ->
    (current + size <= other \/ other + size <= current)%nat ->
    points_to p width always a b own rows target -> points_to p width always self self own rows here ->
    nth here rows [] = own ->
    (forall row c, In row rows -> representable p (at_column row c)) ->
    (forall t, (t < size)%nat -> at_column own (other + t) = 0) ->
    exists result,
      layer_row p e (overwrite_layer width always a b self source current other size) rows own = Some result
      /\ (forall t, (t < size)%nat ->
            at_column result (other + t) = at_column (nth target rows []) (source + t)
            /\ at_column result (current + t) = 0)
      /\ (forall c, (c < width)%nat -> ~ (other <= c < other + size)%nat -> ~ (current <= c < current + size)%nat ->
            at_column result c = at_column own c).
  Proof.
    intros e width always a b self source current other size own rows target here
           Hsource Hcurrent Hother Hdisjoint Hpoint Hself Hhere Hrep Hempty.
    pose proof Hpoint as Hp1. pose proof Hself as Hp2.
    destruct Hp1 as [_ [[Hlength _] [Hrows [Htarget _]]]]. destruct Hp2 as [_ [_ [_ [Hhere2 _]]]].
    set (source_row := nth target rows []).
    assert (Hin : In source_row rows) by (apply nth_In; assumption).
    assert (Hown : In own rows) by (rewrite <- Hhere; apply nth_In; assumption).
    assert (Hsl : length source_row = width) by (apply Hrows; assumption).
    set (new := map (fun c => inner p source_row (dense width (copy_block source other size (one p) c))) (seq 0 width)).
    set (old := map (fun c => inner p own (dense width (copy_block current current size (- one p) c))) (seq 0 width)).
    exists (plus p (attended p own [new; old]) (mlp_output p (no_mlp width) (attended p own [new; old]))).
    assert (Hlen : forall r, In r [new; old] -> length r = length own).
    { intros r [<-|[<-|[]]]; unfold new, old; rewrite map_length, seq_length; symmetry; assumption. }
    assert (value : forall c, (c < width)%nat ->
      at_column (plus p (attended p own [new; old]) (mlp_output p (no_mlp width) (attended p own [new; old]))) c
      = add p (add p (add p 0 (at_column new c)) (at_column old c)) (at_column own c)).
    { intros c Hc. pose proof (attended_length p own [new; old] Hlen) as Hal.
      rewrite at_plus.
      - rewrite no_mlp_adds_nothing by (try assumption; lia). rewrite at_attended by (try assumption; lia).
        simpl. rewrite add_0_r; [reflexivity | apply add_representable; assumption].
      - unfold mlp_output, plus, times, no_mlp. simpl. unfold zip_with.
        rewrite !map_length, combine_length, !map_length, seq_length. lia.
      - lia. }
    split; [|split].
    - apply layer_row_of_heads. repeat constructor.
      + apply lookup_copies; assumption.
      + rewrite lookup_copies with (target := here) by assumption. rewrite Hhere. reflexivity.
    - intros t Ht. split.
      + rewrite value by lia. unfold new, old. rewrite !at_copy_block by (assumption || lia).
        destruct (Nat.leb_spec other (other + t)); [|lia]. destruct (Nat.ltb_spec (other + t) (other + size)); [|lia].
        replace ((current <=? other + t) && (other + t <? current + size))%nat with false
          by (symmetry; apply andb_false_iff; rewrite Nat.leb_gt, Nat.ltb_ge; lia).
        simpl. replace (other + t - other)%nat with t by lia. rewrite Hempty by assumption.
        rewrite multiply_one by (try apply Hrep; assumption).
        rewrite add_0_l by (apply Hrep; assumption).
        rewrite !add_0_r; try reflexivity; rewrite ?add_0_r; apply Hrep; assumption.
      + rewrite value by lia. unfold new, old. rewrite !at_copy_block by (assumption || lia).
        replace ((other <=? current + t) && (current + t <? other + size))%nat with false
          by (symmetry; apply andb_false_iff; rewrite Nat.leb_gt, Nat.ltb_ge; lia).
        destruct (Nat.leb_spec current (current + t)); [|lia].
        destruct (Nat.ltb_spec (current + t) (current + size)); [|lia].
        simpl. replace (current + (current + t - current))%nat with (current + t)%nat by lia.
        pose proof (Hrep own (current + t)%nat Hown) as R.
        rewrite multiply_minus_one by assumption. unfold add, clip, representable in *. lia.
    - intros c Hc Ho Hcur. rewrite value by assumption. unfold new, old. rewrite !at_copy_block by assumption.
      replace ((other <=? c) && (c <? other + size))%nat with false
        by (symmetry; apply andb_false_iff; rewrite Nat.leb_gt, Nat.ltb_ge; lia).
      replace ((current <=? c) && (c <? current + size))%nat with false
        by (symmetry; apply andb_false_iff; rewrite Nat.leb_gt, Nat.ltb_ge; lia).
      pose proof (zero_representable p p_positive).
      rewrite !add_0_l by (rewrite ?add_0_l; try assumption; apply Hrep; assumption).
      reflexivity.
  Qed.
End Buffers.
