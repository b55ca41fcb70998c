(** cot_to_pcot, step by step: the rows of the source stand in the rows of the target, and the row of the mask reads
    the last of them. Every run agrees, and every error. *)

From Coq Require Import ZArith Lia List Arith Bool.
From Unmask Require Import Numbers Sums Exponential Layer Forms Attention LayerRows Match GadgetEq Codes Diffusion.
From Unmask Require Import Specification Shapes Chain CotToPcot.
Import ListNotations.
Open Scope Z_scope.

(** Lists. *)
Lemma zip_nth : forall (A B C : Type) (f : A -> B -> C) a b i x y z, (i < length a)%nat -> (i < length b)%nat ->
  nth i (zip_with f a b) z = f (nth i a x) (nth i b y).
Proof.
  intros A B C f a. induction a as [|u a IH]; intros [|v b] [|i] x y z Ha Hb; simpl in *; try lia; [reflexivity|].
  apply (IH b i x y z); lia.
Qed.

Lemma first_nth : forall (A : Type) (xs : list A) k i d, (i < k)%nat -> nth i (firstn k xs) d = nth i xs d.
Proof.
  intros A xs. induction xs as [|x xs IH]; intros [|k] [|i] d H; simpl; try lia; try reflexivity. apply IH. lia.
Qed.

Lemma first_related : forall (A B : Type) (R : A -> B -> Prop) xs ys, Forall2 R xs ys ->
  forall k, Forall2 R (firstn k xs) (firstn k ys).
Proof. intros A B R xs ys H. induction H; intros [|k]; simpl; constructor; auto. Qed.

Lemma last_only : forall (A : Type) (xs : list A) d, xs <> [] -> skipn (length xs - 1) xs = [nth (length xs - 1) xs d].
Proof.
  intros A xs d H. induction xs as [|x xs IH]; [tauto|]. destruct xs as [|y xs]; [reflexivity|].
  replace (length (x :: y :: xs) - 1)%nat with (S (length (y :: xs) - 1)) by (simpl; lia).
  simpl skipn. simpl nth. apply IH. discriminate.
Qed.

Lemma all_or_error_some : forall (A : Type) (results : list (option A)) ys, all_or_error results = Some ys ->
  results = map Some ys.
Proof.
  intros A results. induction results as [|[x|] results IH]; intros ys H; simpl in H; try discriminate.
  - injection H as <-. reflexivity.
  - destruct (all_or_error results) as [rest|]; [|discriminate]. injection H as <-. simpl. f_equal. apply IH. reflexivity.
Qed.

Lemma all_are_results : forall (A : Type) (ys : list A), all_or_error (map Some ys) = Some ys.
Proof. intros A ys. induction ys as [|y ys IH]; simpl; [reflexivity|]. rewrite IH. reflexivity. Qed.

Lemma all_or_error_last : forall (A : Type) (results : list (option A)) y,
  all_or_error (results ++ [Some y]) = option_map (fun ys => ys ++ [y]) (all_or_error results).
Proof.
  intros A results y. induction results as [|[x|] results IH]; simpl; try reflexivity.
  rewrite IH. destruct (all_or_error results); reflexivity.
Qed.

Lemma all_or_error_indexed : forall (A B : Type) (g : nat -> A -> B) (f : nat -> option A) count first,
  all_or_error (map (fun i => option_map (g i) (f i)) (seq first count))
  = option_map (fun ys => zip_with g (seq first (length ys)) ys) (all_or_error (map f (seq first count))).
Proof.
  intros A B g f count. induction count as [|count IH]; intro first; [reflexivity|]. simpl.
  destruct (f first) as [y|]; [|reflexivity]. simpl. rewrite IH. destruct (all_or_error _); reflexivity.
Qed.

Lemma seq_from : forall n first, seq first n = map (fun k => (first + k)%nat) (seq 0 n).
Proof.
  induction n as [|n IH]; intro first; [reflexivity|]. cbn [seq map]. f_equal; [lia|].
  rewrite (IH (S first)), (IH 1%nat), map_map. apply map_ext. intro k. lia.
Qed.

Lemma argmax_from_range : forall xs champion best next, (champion < next)%nat ->
  (argmax_from champion best next xs < next + length xs)%nat.
Proof.
  induction xs as [|x xs IH]; intros champion best next H; simpl; [lia|].
  destruct (best <? x); [pose proof (IH next x (S next) ltac:(lia)) | pose proof (IH champion best (S next) ltac:(lia))]; lia.
Qed.

Lemma argmax_range : forall xs, xs <> [] -> (argmax xs < length xs)%nat.
Proof.
  intros [|x xs] H; [tauto|]. unfold argmax. pose proof (argmax_from_range xs 0 x 1 ltac:(lia)). simpl. lia.
Qed.

Lemma argmax_from_last : forall least xs champion best next, least <= best -> Forall (fun x => least <= x) xs ->
  argmax_from champion best next (xs ++ [least]) = argmax_from champion best next xs.
Proof.
  intros least xs. induction xs as [|x xs IH]; intros champion best next Hbest H; simpl.
  - destruct (Z.ltb_spec best least); [lia | reflexivity].
  - inversion H; subst. destruct (best <? x); apply IH; assumption.
Qed.

(** A last entry that is at most all others never wins, not even a tie. *)
Lemma argmax_last : forall least xs, xs <> [] -> Forall (fun x => least <= x) xs -> argmax (xs ++ [least]) = argmax xs.
Proof. intros least [|x xs] Hne H; [tauto|]. inversion H; subst. apply argmax_from_last; assumption. Qed.

Section Run.
  Variables (p : Z) (e : exponential p).
  Hypothesis p_positive : 1 <= p.
  Variables (width bits : nat).

  Definition row_of (m : Z) (i : nat) (x z : vector) : vector := frame p m (codes p bits i) ++ x ++ z.
  Definition hosted (i : nat) (x : vector) : vector := row_of 0 i x (zeros width).
  Definition hosted_rows (rows : list vector) : list vector := zip_with hosted (seq 0 (length rows)) rows.
  Definition mask_row (i : nat) (y : vector) : vector := row_of (one p) i y (zeros width).

  Lemma codes_length : forall i, length (codes p bits i) = (bits + bits)%nat.
  Proof. intro i. unfold codes, code. rewrite app_length, !map_length, !seq_length. reflexivity. Qed.

  Lemma codes_ok : forall i, Forall (representable p) (codes p bits i).
  Proof.
    intro i. apply Forall_app. split; apply Forall_map, Forall_forall; intros k _;
      apply signed_bit_representable; assumption.
  Qed.

  Lemma flag_known : forall m i, representable p m -> known_ok p bits m (codes p bits i).
  Proof. intros m i H. split; [assumption | split; [apply codes_length | apply codes_ok]]. Qed.

  Lemma hosted_hosts : forall i x, length x = width -> hosts p width bits x (hosted i x).
  Proof. intros i x H. exists 0, (codes p bits i), (zeros width). split; [reflexivity | split; [apply codes_length | assumption]]. Qed.

  Lemma mask_hosts : forall i y, length y = width -> hosts p width bits y (mask_row i y).
  Proof. intros i x H. exists (one p), (codes p bits i), (zeros width). split; [reflexivity | split; [apply codes_length | assumption]]. Qed.

  Lemma hosted_from : forall rows first, Forall (numbers p width) rows ->
    Forall2 (hosts p width bits) rows (zip_with hosted (seq first (length rows)) rows).
  Proof.
    intros rows. induction rows as [|x rows IH]; intros first H; [constructor|]. inversion H as [|? ? [Hx _] Hrows]; subst.
    constructor; [apply hosted_hosts; assumption | apply IH; assumption].
  Qed.

  Lemma hosted_length : forall rows, length (hosted_rows rows) = length rows.
  Proof. intro rows. unfold hosted_rows. rewrite zip_length; apply seq_length. Qed.

  Lemma hosted_nth : forall rows i, (i < length rows)%nat -> nth i (hosted_rows rows) [] = hosted i (nth i rows []).
  Proof.
    intros rows i H. unfold hosted_rows. etransitivity.
    { apply (zip_nth _ _ _ hosted (seq 0 (length rows)) rows i 0%nat [] []); rewrite ?seq_length; assumption. }
    rewrite seq_nth by assumption. reflexivity.
  Qed.

  (** What a head scores: the source's scores for its own rows, B for the row of the mask. *)
  Lemma exponentials_unflagged : forall h i x rows rows', head_fits width h -> length x = width ->
    Forall2 (hosts p width bits) rows rows' ->
    exponentials p e (simulated_head p width bits h) (hosted i x) rows' = exponentials p e h x rows.
  Proof.
    intros h i x rows rows' Hh Hx H. unfold exponentials. induction H as [|row row' rows rows' Hrow H IH]; [reflexivity|].
    cbn [map]. rewrite IH. f_equal. f_equal. unfold hosted, row_of.
    rewrite (simulated_score p p_positive width bits h 0 (codes p bits i) x (zeros width) row row' Hh (codes_length i) Hx Hrow).
    unfold flag_term. rewrite multiply_0_l by assumption. rewrite !add_0_r
      by (try apply add_representable; try apply inner_ok; assumption). reflexivity.
  Qed.

  Lemma exponentials_flagged : forall h i y rows rows', head_fits width h -> length y = width ->
    Forall2 (hosts p width bits) rows rows' ->
    exponentials p e (simulated_head p width bits h) (mask_row i y) rows' = map (fun _ => bound p) rows.
  Proof.
    intros h i x rows rows' Hh Hx H. unfold exponentials. induction H as [|row row' rows rows' Hrow H IH]; [reflexivity|].
    cbn [map]. rewrite IH. f_equal. unfold mask_row, row_of.
    rewrite (simulated_score p p_positive width bits h (one p) (codes p bits i) x (zeros width) row row' Hh (codes_length i) Hx Hrow).
    unfold flag_term. rewrite one_multiply by (try apply bound_representable; assumption).
    assert (Hs : representable p (inner p (times p x (wq h)) (times p row (wk h)))) by (apply inner_ok; assumption).
    replace (add p (add p _ (bound p)) (bound p)) with (bound p); [apply exp_bound; assumption|].
    unfold representable in Hs. unfold add, clip. pose proof (bound_positive p p_positive). lia.
  Qed.

  Lemma bounds_sum : forall (rows : list vector), rows <> [] -> sum p (map (fun _ => bound p) rows) = bound p.
  Proof.
    intros rows H. pose proof (bound_positive p p_positive). destruct rows as [|row rows]; [tauto|]. unfold sum, sum_from. simpl.
    rewrite add_0_l by (apply bound_representable; assumption). clear H.
    induction rows as [|r rows IH]; simpl; [reflexivity|].
    replace (add p (bound p) (bound p)) with (bound p) by (unfold add, clip; lia). assumption.
  Qed.

  (** A layer by the exponentials of its heads; its rows are numbers of F_p. *)
  Lemma sum_of_heads_averages : forall hs total own rows,
    sum_of_heads p e total hs own rows = sum_of_averages p (fun h => exponentials p e h own rows) total hs rows.
  Proof.
    induction hs as [|h hs IH]; intros total own rows; [reflexivity|]. cbn [sum_of_heads sum_of_averages].
    rewrite attend_average. destruct (average _ _ _ _); [apply IH | reflexivity].
  Qed.

  Lemma layer_row_averages : forall l rows own,
    layer_row p e l rows own = averaged_row p (fun h => exponentials p e h own rows) l rows own.
  Proof. intros. unfold layer_row, averaged_row. rewrite sum_of_heads_averages. reflexivity. Qed.

  Lemma averaged_numbers : forall exps l rows own r, layer_fits width l -> length own = width ->
    averaged_row p exps l rows own = Some r -> numbers p width r.
  Proof.
    intros exps l rows own r [Hh [_ [H2 H3]]] Hown H. unfold averaged_row in H.
    destruct (sum_of_averages _ _ _ _ _) as [total|] eqn:E; [|discriminate]. injection H as <-.
    apply (sum_of_averages_length p width) in E; [|assumption | rewrite map_length; assumption].
    assert (Hg : length (plus p total own) = width) by (rewrite plus_length; congruence).
    split; [|apply plus_ok; assumption].
    rewrite plus_length; [assumption|]. rewrite Hg. unfold mlp_output, plus, times.
    rewrite map_length, zip_length; rewrite map_length; congruence.
  Qed.

  Lemma flagged_never_fails : forall l rows own, rows <> [] ->
    exists r, averaged_row p (fun _ => map (fun _ => bound p) rows) l rows own = Some r.
  Proof.
    intros l rows own H. unfold averaged_row. generalize (map (fun _ : Z => 0) own).
    induction (heads l) as [|h hs IH]; intro total; simpl; [eexists; reflexivity|].
    unfold average at 1. rewrite bounds_sum by assumption. pose proof (bound_positive p p_positive).
    destruct (Z.eqb_spec (bound p) 0); [lia|]. apply IH.
  Qed.

  Lemma unflagged_row : forall l i x rows rows', layer_fits width l -> length x = width ->
    Forall2 (hosts p width bits) rows rows' ->
    layer_row p e (simulated_layer p width bits l) rows' (hosted i x) = option_map (hosted i) (layer_row p e l rows x).
  Proof.
    intros l i x rows rows' Hl Hx Hrows. rewrite layer_row_averages with (l := l). unfold hosted, row_of.
    apply (layer_lift p e p_positive); try assumption.
    - apply flag_known, zero_representable. assumption.
    - intros h Hh. apply (exponentials_unflagged h i); try assumption.
      destruct Hl as [Hheads _]. rewrite Forall_forall in Hheads. apply Hheads. assumption.
  Qed.

  Lemma flagged_row : forall l i y rows rows', layer_fits width l -> length y = width -> rows <> [] ->
    Forall2 (hosts p width bits) rows rows' ->
    exists r, numbers p width r /\ layer_row p e (simulated_layer p width bits l) rows' (mask_row i y) = Some (mask_row i r).
  Proof.
    intros l i y rows rows' Hl Hy Hne Hrows. destruct (flagged_never_fails l rows y Hne) as [r Hr]. exists r.
    split; [eapply averaged_numbers; eassumption|]. unfold mask_row, row_of.
    rewrite (layer_lift p e p_positive width bits (fun _ => map (fun _ => bound p) rows) l (one p) (codes p bits i) y rows rows');
      try assumption.
    - rewrite Hr. reflexivity.
    - apply flag_known, one_representable. assumption.
    - intros h Hh. apply (exponentials_flagged h i); try assumption.
      destruct Hl as [Hheads _]. rewrite Forall_forall in Hheads. apply Hheads. assumption.
  Qed.

  (** The rows of the target while the layers of the source run. *)
  Definition state (rows : list vector) (y : vector) : list vector := hosted_rows rows ++ [mask_row (length rows) y].

  Lemma state_length : forall rows y, length (state rows y) = S (length rows).
  Proof. intros. unfold state. rewrite app_length, hosted_length. simpl. lia. Qed.

  Lemma state_hosts : forall rows y, Forall (numbers p width) rows -> numbers p width y ->
    Forall2 (hosts p width bits) (rows ++ [y]) (state rows y).
  Proof.
    intros rows y H [Hy _]. apply Forall2_app; [apply hosted_from; assumption|]. constructor; [apply mask_hosts; assumption | constructor].
  Qed.

  Lemma causal_layer_numbers : forall l rows next, layer_fits width l -> Forall (numbers p width) rows ->
    causal_layer p e rows l = Some next -> length next = length rows /\ Forall (numbers p width) next.
  Proof.
    intros l rows next Hl Hrows H. unfold causal_layer in H. apply all_or_error_some in H. split.
    - apply (f_equal (@length _)) in H. rewrite !map_length, seq_length in H. congruence.
    - apply Forall_forall. intros x Hx. apply (in_map Some) in Hx. rewrite <- H in Hx. apply in_map_iff in Hx.
      destruct Hx as [i [Hi Hin]]. apply in_seq in Hin. rewrite layer_row_averages in Hi.
      eapply averaged_numbers in Hi; try assumption.
      rewrite Forall_forall in Hrows. apply Hrows. apply nth_In. lia.
  Qed.

  Lemma simulated_causal_layer : forall l rows y, layer_fits width l -> Forall (numbers p width) rows -> numbers p width y ->
    exists y', numbers p width y' /\
      causal_layer p e (state rows y) (simulated_layer p width bits l)
      = option_map (fun next => state next y') (causal_layer p e rows l).
  Proof.
    intros l rows y Hl Hrows Hy. pose proof (state_hosts rows y Hrows Hy) as Hhosts.
    destruct (flagged_row l (length rows) y (rows ++ [y]) (state rows y)) as [y' [Hy' Hmask]]; try assumption.
    { apply Hy. } { destruct rows; discriminate. }
    exists y'. split; [assumption|]. unfold causal_layer at 1. rewrite state_length, seq_S, map_app, Nat.add_0_l. cbn [map].
    replace (firstn (S (length rows)) (state rows y)) with (state rows y)
      by (symmetry; apply firstn_all2; rewrite state_length; lia).
    replace (nth (length rows) (state rows y) []) with (mask_row (length rows) y).
    2: { unfold state. rewrite app_nth2 by (rewrite hosted_length; lia). rewrite hosted_length, Nat.sub_diag. reflexivity. }
    rewrite Hmask, all_or_error_last.
    rewrite (map_ext_in _ (fun i => option_map (hosted i) (layer_row p e l (firstn (S i) rows) (nth i rows [])))).
    - pose proof (all_or_error_indexed _ _ hosted (fun i => layer_row p e l (firstn (S i) rows) (nth i rows []))
                    (length rows) 0) as Hall. cbn beta in Hall. rewrite Hall. clear Hall.
      change (all_or_error (map (fun i => layer_row p e l (firstn (S i) rows) (nth i rows [])) (seq 0 (length rows))))
        with (causal_layer p e rows l).
      destruct (causal_layer p e rows l) as [next|] eqn:E; [|reflexivity]. cbn [option_map].
      apply causal_layer_numbers in E; try assumption. destruct E as [E _]. unfold state, hosted_rows. rewrite E. reflexivity.
    - intros i Hi. apply in_seq in Hi. unfold state at 2. rewrite app_nth1 by (rewrite hosted_length; lia).
      rewrite hosted_nth by lia. apply unflagged_row; try assumption.
      + rewrite Forall_forall in Hrows. apply Hrows, nth_In. lia.
      + unfold state. rewrite firstn_app, hosted_length. replace (S i - length rows)%nat with 0%nat by lia. rewrite firstn_O, app_nil_r.
        apply first_related. apply hosted_from. assumption.
  Qed.

  Lemma causal_layers_numbers : forall ls rows next, Forall (layer_fits width) ls -> Forall (numbers p width) rows ->
    causal_layers p e ls rows = Some next -> length next = length rows /\ Forall (numbers p width) next.
  Proof.
    induction ls as [|l ls IH]; intros rows next Hls Hrows H; simpl in H.
    - injection H as <-. tauto.
    - inversion Hls; subst. destruct (causal_layer p e rows l) as [middle|] eqn:E; [|discriminate].
      apply causal_layer_numbers in E; try assumption. destruct E as [E1 E2].
      apply IH in H; try assumption. rewrite <- E1. assumption.
  Qed.

  Lemma simulated_causal_layers : forall ls rows y, Forall (layer_fits width) ls -> Forall (numbers p width) rows ->
    numbers p width y ->
    exists y', numbers p width y' /\
      causal_layers p e (map (simulated_layer p width bits) ls) (state rows y)
      = option_map (fun next => state next y') (causal_layers p e ls rows).
  Proof.
    induction ls as [|l ls IH]; intros rows y Hls Hrows Hy; [exists y; split; [assumption | reflexivity]|].
    inversion Hls as [|? ? Hl Hrest]; subst. simpl.
    destruct (simulated_causal_layer l rows y Hl Hrows Hy) as [y1 [Hy1 ->]].
    destruct (causal_layer p e rows l) as [middle|] eqn:E; [|exists y1; split; [assumption | reflexivity]]. simpl.
    apply causal_layer_numbers in E; try assumption. apply IH; tauto.
  Qed.

  Lemma causal_layers_app : forall ls ls' rows, causal_layers p e (ls ++ ls') rows
    = match causal_layers p e ls rows with None => None | Some next => causal_layers p e ls' next end.
  Proof.
    induction ls as [|l ls IH]; intros ls' rows; simpl; [reflexivity|]. destruct (causal_layer p e rows l); [apply IH | reflexivity].
  Qed.

  (** The last layer: every row gets the stream of the row before. *)
  Definition stream (rows : list vector) (y : vector) (i : nat) : vector := nth i (rows ++ [y]) [].
  Definition flag (rows : list vector) (i : nat) : Z := if (i <? length rows)%nat then 0 else one p.

  Lemma state_nth : forall rows y i, (i < S (length rows))%nat ->
    nth i (state rows y) [] = row_of (flag rows i) i (stream rows y i) (zeros width).
  Proof.
    intros rows y i H. unfold state, stream, flag. destruct (Nat.ltb_spec i (length rows)).
    - rewrite !app_nth1 by (rewrite ?hosted_length; assumption). apply hosted_nth. assumption.
    - assert (i = length rows) by lia. subst i. rewrite !app_nth2 by (rewrite ?hosted_length; lia).
      rewrite hosted_length, Nat.sub_diag. reflexivity.
  Qed.

  Lemma row_of_length : forall m i x z, length x = width -> length z = width -> length (row_of m i x z) = wider width bits.
  Proof.
    intros m i x z Hx Hz. unfold row_of, wider. rewrite (app_length (frame p m (codes p bits i))), (app_length x).
    rewrite (frame_length p bits m (codes p bits i) (codes_length i)). lia.
  Qed.

  Lemma row_holds : forall m i x z, holds_code p (row_of m i x z) bits 2 i /\ holds_code p (row_of m i x z) bits (2 + bits) (i - 1).
  Proof.
    intros m i x z. unfold holds_code, row_of, frame, codes, code, at_column. split; intros k Hk.
    - change (2 + k)%nat with (S (S k)). simpl. rewrite <- !app_assoc.
      rewrite app_nth1 by (rewrite map_length, seq_length; assumption).
      apply (at_map_seq (signed_bit p bits i)). assumption.
    - change (2 + bits + k)%nat with (S (S (bits + k))). simpl. rewrite <- !app_assoc.
      rewrite app_nth2 by (rewrite map_length, seq_length; lia). rewrite map_length, seq_length.
      replace (bits + k - bits)%nat with k by lia. rewrite app_nth1 by (rewrite map_length, seq_length; assumption).
      apply (at_map_seq (signed_bit p bits (i - 1))). assumption.
  Qed.

  Lemma copied_row : forall m i x z, numbers p width x -> length z = width ->
    map (fun c => inner p (row_of m i x z) (dense (wider width bits) (copied p width bits c))) (seq 0 (wider width bits))
    = zeros (known bits) ++ zeros width ++ x.
  Proof.
    intros m i x z [Hx Hrep] Hz. pose proof (row_of_length m i x z Hx Hz) as Hlength.
    assert (Hnone : forall first count, (first + count <= known bits + width)%nat ->
      map (fun c => inner p (row_of m i x z) (dense (wider width bits) (copied p width bits c))) (seq first count) = zeros count).
    { intros first count Hle. rewrite <- (seq_length count first) at 2. rewrite <- (map_const_zeros _ (seq first count)).
      apply map_ext_in. intros c Hc. apply in_seq in Hc. unfold copied.
      destruct (Nat.ltb_spec c (known bits + width)); [|lia].
      rewrite inner_dense by (try apply fits_nil; assumption). reflexivity. }
    unfold wider at 2. rewrite seq_app, map_app, Hnone by lia. f_equal. rewrite seq_app, map_app, Hnone by lia. f_equal.
    transitivity (map (at_column x) (seq 0 width)); [|rewrite <- Hx; symmetry; apply vector_as_map].
    match goal with |- map _ (seq ?first _) = _ => rewrite (seq_from width first) end.
    rewrite map_map. apply map_ext_in. intros k Hk. apply in_seq in Hk. unfold copied.
    match goal with |- context [(?a <? ?b)%nat] =>
      destruct (Nat.ltb_spec a b); [lia|]; replace a with (known bits + width + k)%nat by lia end.
    assert (Hat : at_column (row_of m i x z) (known bits + width + k - width) = at_column x k).
    { unfold at_column, row_of. rewrite app_nth2; rewrite (frame_length p bits m (codes p bits i) (codes_length i)); [|lia].
      replace (known bits + width + k - width - known bits)%nat with k by lia. apply app_nth1. lia. }
    rewrite lookup_value; try assumption; try (unfold wider; lia); rewrite Hat; try reflexivity.
    rewrite Forall_forall in Hrep. apply Hrep. apply nth_In. lia.
  Qed.

  Lemma no_units : forall size g, mlp_output p (mlp_of size [] (fun _ => ([], 0))) g = zeros size.
  Proof.
    intros size g. unfold mlp_output, hidden_units, times, plus. cbn [w1 b1 w2 b2 mlp_of map].
    rewrite map_map, zip_with_map, map_map. rewrite <- (seq_length size 0) at 2. rewrite <- map_const_zeros.
    apply map_ext. intro k. change (relu (add p 0 0) = 0). rewrite add_0_r by (apply zero_representable; assumption). reflexivity.
  Qed.

  Lemma look_back_row : forall rows y i, Forall (numbers p width) rows -> numbers p width y ->
    (S (length rows) <= 2 ^ bits)%nat -> (i < S (length rows))%nat ->
    layer_row p e (look_back p width bits) (firstn (S i) (state rows y)) (nth i (state rows y) [])
    = Some (row_of (flag rows i) i (stream rows y i) (stream rows y (i - 1))).
  Proof.
    intros rows y i Hrows Hy Hbits Hi.
    assert (Hstream : forall j, (j < S (length rows))%nat -> numbers p width (stream rows y j)).
    { intros j Hj. assert (H : Forall (numbers p width) (rows ++ [y])) by (apply Forall_app; split; [|constructor]; auto).
      rewrite Forall_forall in H. apply H, nth_In. rewrite app_length. simpl. lia. }
    assert (Hflag : representable p (flag rows i)).
    { unfold flag. destruct (_ <? _)%nat; [apply zero_representable | apply one_representable]; assumption. }
    assert (Hcount : length (firstn (S i) (state rows y)) = S i).
    { rewrite firstn_length, state_length. lia. }
    assert (Hnth : forall j, (j < S i)%nat -> nth j (firstn (S i) (state rows y)) []
                                           = row_of (flag rows j) j (stream rows y j) (zeros width)).
    { intros j Hj. rewrite first_nth by assumption. apply state_nth. lia. }
    rewrite state_nth by assumption. set (own := row_of _ i _ _).
    assert (Hown : length own = wider width bits) by (apply row_of_length; [apply Hstream; lia | apply zeros_length]).
    rewrite (layer_row_of_heads p e (look_back p width bits) own _
               [zeros (known bits) ++ zeros width ++ stream rows y (i - 1)]).
    2: { cbn [heads look_back]. constructor; [|constructor].
         rewrite lookup_copies with (target := (i - 1)%nat); [| assumption |].
         - rewrite Hnth by lia. f_equal. apply copied_row; [apply Hstream; lia | apply zeros_length].
         - apply address_points_to; try assumption; try (unfold wider, known; lia).
           + intros j Hj. rewrite Hcount in Hj. rewrite Hnth by assumption. split; [|split].
             * apply row_of_length; [apply Hstream; lia | apply zeros_length].
             * reflexivity.
             * apply row_holds.
           + reflexivity.
           + apply row_holds. }
    unfold attended. cbn [fold_left feed_forward look_back]. rewrite no_units, map_const_zeros, Hown.
    unfold wider. rewrite !zeros_app. unfold own, row_of.
    destruct (Hstream i Hi) as [Hx Hxrep]. destruct (Hstream (i - 1)%nat ltac:(lia)) as [Hz Hzrep].
    pose proof (flag_known (flag rows i) i Hflag) as [_ [Hcs Hcsrep]].
    set (known_part := frame p (flag rows i) (codes p bits i)) in *.
    assert (Hframe : Forall (representable p) known_part).
    { pose proof (one_representable p p_positive). unfold known_part, frame. cbn [app].
      repeat (apply Forall_cons; [assumption|]). assumption. }
    assert (HK : length known_part = known bits) by (apply frame_length; assumption).
    assert (left_0 : forall n x, length x = n -> Forall (representable p) x -> plus p (zeros n) x = x).
    { intros n x <- Hok. apply plus_zeros; assumption. }
    assert (right_0 : forall n x, length x = n -> Forall (representable p) x -> plus p x (zeros n) = x).
    { intros n x <- Hok. apply plus_zeros_r; assumption. }
    assert (Hzz : forall n, plus p (zeros n) (zeros n) = zeros n).
    { intro n. apply left_0; [apply zeros_length | apply zeros_ok; assumption]. }
    rewrite plus_framed by (rewrite ?zeros_length; congruence). rewrite !Hzz, (left_0 width (stream rows y (i - 1))) by assumption.
    rewrite plus_framed by (rewrite ?zeros_length; congruence).
    rewrite (left_0 _ known_part), (left_0 _ (stream rows y i)), (right_0 _ (stream rows y (i - 1))) by assumption.
    rewrite plus_framed by (rewrite ?zeros_length; congruence).
    rewrite (right_0 _ known_part), (right_0 _ (stream rows y i)), (right_0 _ (stream rows y (i - 1))) by assumption.
    reflexivity.
  Qed.

  Lemma looked_back : forall rows y, Forall (numbers p width) rows -> numbers p width y ->
    (S (length rows) <= 2 ^ bits)%nat ->
    causal_layer p e (state rows y) (look_back p width bits)
    = Some (map (fun i => row_of (flag rows i) i (stream rows y i) (stream rows y (i - 1))) (seq 0 (S (length rows)))).
  Proof.
    intros rows y Hrows Hy Hbits. unfold causal_layer. rewrite state_length, <- all_are_results, map_map. f_equal.
    apply map_ext_in. intros i Hi. apply in_seq in Hi. apply look_back_row; try assumption. lia.
  Qed.

  (** The whole model. *)
  Variables (symbols count : nat) (t : transformer).
  Hypothesis shape : has_shape p symbols count symbols width t.
  Hypothesis bits_are : bits = bits_for count.

  Notation target := (cot_to_pcot p width t).

  Lemma positions_are : length (positions t) = count.
  Proof. apply shape. Qed.

  Lemma target_embed : embed target
    = map (lift width bits) (embed t) ++ [([0; one p] ++ zeros (bits + bits)) ++ zeros width ++ zeros width].
  Proof. rewrite bits_are, <- positions_are. reflexivity. Qed.

  Lemma target_positions : positions target = zip_with (position_row p width bits) (seq 0 count) (positions t).
  Proof. rewrite bits_are, <- positions_are. reflexivity. Qed.

  Lemma target_layers : layers target = map (simulated_layer p width bits) (layers t) ++ [look_back p width bits].
  Proof. rewrite bits_are, <- positions_are. reflexivity. Qed.

  Lemma target_out : out target
    = map (fun column => zeros (known bits) ++ zeros width ++ column) (out t)
      ++ [([- bound p; 0] ++ zeros (bits + bits)) ++ zeros width ++ zeros width].
  Proof. rewrite bits_are, <- positions_are. reflexivity. Qed.

  Lemma lengths_of : forall number size vectors, matrix p number size vectors -> Forall (fun x => length x = size) vectors.
  Proof. intros number size vectors [_ H]. eapply Forall_impl; [|exact H]. intros x [Hx _]. assumption. Qed.

  Lemma layers_fit : Forall (layer_fits width) (layers t).
  Proof.
    destruct shape as [_ [_ [_ H]]]. eapply Forall_impl; [|exact H]. intros l [Hheads [hidden [H1 [_ [H2 H3]]]]]. split.
    - eapply Forall_impl; [|exact Hheads]. intros h [d [Hq [Hk Hv]]]. unfold head_fits.
      split; [eapply lengths_of; exact Hq|]. split; [eapply lengths_of; exact Hk|].
      split; [destruct Hq, Hk; congruence|]. split; [eapply lengths_of; exact Hv | apply Hv].
    - split; [eapply lengths_of; exact H1|]. split; [apply H2 | apply H3].
  Qed.

  Lemma embedded_length : forall (s : transformer) tokens, (length tokens <= length (positions s))%nat ->
    length (embedded p s tokens) = length tokens.
  Proof. intros s tokens H. unfold embedded, zip_with. rewrite map_length, combine_length. lia. Qed.

  Lemma embedded_nth : forall (s : transformer) tokens i, (i < length tokens)%nat -> (i < length (positions s))%nat ->
    nth i (embedded p s tokens) [] = plus p (nth (nth i tokens 0%nat) (embed s) []) (nth i (positions s) []).
  Proof. intros s tokens i H1 H2. unfold embedded.
    apply (zip_nth _ _ _ (fun token position => plus p (nth token (embed s) []) position) tokens (positions s) i 0%nat [] []);
      assumption.
  Qed.

  Lemma target_position : forall i, (i < count)%nat ->
    nth i (positions target) [] = position_row p width bits i (nth i (positions t) []).
  Proof.
    intros i H. rewrite target_positions.
    etransitivity.
    { apply (zip_nth _ _ _ (position_row p width bits) (seq 0 count) (positions t) i 0%nat [] []);
        rewrite ?seq_length, ?positions_are; assumption. }
    rewrite seq_nth by assumption. reflexivity.
  Qed.

  Lemma plus_left : forall n x, length x = n -> Forall (representable p) x -> plus p (zeros n) x = x.
  Proof. intros n x <- H. apply plus_zeros; assumption. Qed.

  Lemma zeros_twice : forall n, plus p (zeros n) (zeros n) = zeros n.
  Proof. intro n. apply plus_left; [apply zeros_length | apply zeros_ok; assumption]. Qed.

  Lemma embedded_hosted : forall i x given, length x = width -> length given = width ->
    plus p (lift width bits x) (position_row p width bits i given) = hosted i (plus p x given).
  Proof.
    intros i x given Hx Hgiven. unfold lift, position_row, hosted, row_of.
    change ([one p; 0] ++ codes p bits i) with (frame p 0 (codes p bits i)).
    pose proof (frame_length p bits 0 (codes p bits i) (codes_length i)) as HK.
    rewrite plus_framed by (rewrite ?zeros_length; congruence). rewrite zeros_twice.
    rewrite plus_left; [reflexivity | assumption|]. unfold frame.
    repeat (apply Forall_cons; [first [apply one_representable | apply zero_representable]; assumption|]). apply codes_ok.
  Qed.

  Lemma embedded_mask : forall i given, length given = width ->
    plus p (([0; one p] ++ zeros (bits + bits)) ++ zeros width ++ zeros width) (position_row p width bits i given)
    = mask_row i (plus p (zeros width) given).
  Proof.
    intros i given Hgiven. unfold position_row, mask_row, row_of.
    rewrite plus_framed.
    - rewrite zeros_twice. f_equal. rewrite plus_app by reflexivity.
      rewrite (plus_left _ (codes p bits i)) by (first [apply codes_length | apply codes_ok]). unfold frame. f_equal.
      unfold plus, zip_with. cbn [combine map fst snd].
      rewrite add_0_l, add_0_r by (apply one_representable; assumption). reflexivity.
    - rewrite !app_length, zeros_length, codes_length. reflexivity.
    - rewrite zeros_length. congruence.
  Qed.

  Lemma embedded_state : forall tokens, Forall (fun s => (s < symbols)%nat) tokens -> (S (length tokens) <= count)%nat ->
    Forall (numbers p width) (embedded p t tokens)
    /\ exists y, numbers p width y /\ embedded p target (tokens ++ [symbols]) = state (embedded p t tokens) y.
  Proof.
    intros tokens Htokens Hcount. pose proof positions_are as Hpositions.
    destruct shape as [[He1 He2] [[Hp1 Hp2] _]]. rewrite Forall_forall in He2, Hp2, Htokens.
    assert (Hgiven : forall i, (i < count)%nat -> length (nth i (positions t) []) = width).
    { intros i Hi. apply Hp2, nth_In. lia. }
    assert (Hsymbol : forall i, (i < length tokens)%nat -> (nth i tokens 0 < symbols)%nat).
    { intros i Hi. apply Htokens, nth_In. assumption. }
    assert (Hembed : forall i, (i < length tokens)%nat -> length (nth (nth i tokens 0%nat) (embed t) []) = width).
    { intros i Hi. apply He2, nth_In. specialize (Hsymbol i Hi). lia. }
    assert (Hlength : length (embedded p t tokens) = length tokens) by (apply embedded_length; lia).
    assert (Htarget : length (positions target) = count).
    { rewrite target_positions, zip_length; rewrite seq_length; [reflexivity | congruence]. }
    split.
    - apply Forall_forall. intros x Hx. apply In_nth with (d := []) in Hx. destruct Hx as [i [Hi <-]].
      rewrite Hlength in Hi. rewrite embedded_nth by lia. split; [|apply plus_ok; assumption].
      rewrite plus_length; [apply Hembed; assumption|]. rewrite Hembed, Hgiven by lia. reflexivity.
    - exists (plus p (zeros width) (nth (length tokens) (positions t) [])). split.
      + split; [|apply plus_ok; assumption]. rewrite plus_length; rewrite zeros_length; [reflexivity|].
        symmetry. apply Hgiven. lia.
      + apply nth_ext with (d := []) (d' := []).
        * rewrite state_length, embedded_length by (rewrite app_length, Htarget; cbn [length]; lia).
          rewrite app_length. cbn [length]. lia.
        * intros i Hi. rewrite embedded_length in Hi by (rewrite app_length, Htarget; cbn [length]; lia).
          rewrite app_length in Hi. cbn [length] in Hi.
          rewrite embedded_nth by (rewrite ?app_length, ?Htarget; cbn [length]; lia).
          rewrite target_position by lia. rewrite target_embed. unfold state.
          destruct (Nat.eq_dec i (length tokens)) as [E|E].
          -- subst i. rewrite (app_nth2 tokens) by lia. rewrite Nat.sub_diag.
             rewrite (app_nth2 (hosted_rows _)) by (rewrite hosted_length; lia). rewrite hosted_length, Hlength, Nat.sub_diag.
             cbn [nth]. rewrite app_nth2 by (rewrite map_length; lia). rewrite map_length, He1, Nat.sub_diag. cbn [nth].
             apply embedded_mask. apply Hgiven. lia.
          -- assert (Hlt : (i < length tokens)%nat) by lia. rewrite (app_nth1 tokens) by assumption.
             rewrite (app_nth1 (hosted_rows _)) by (rewrite hosted_length; lia). rewrite hosted_nth by lia.
             rewrite embedded_nth by lia. rewrite app_nth1 by (rewrite map_length, He1; apply Hsymbol; assumption).
             rewrite (nth_indep _ [] (lift width bits [])) by (rewrite map_length, He1; apply Hsymbol; assumption).
             rewrite map_nth. apply embedded_hosted; [apply Hembed; assumption | apply Hgiven; lia].
  Qed.

  (** The symbol that the last row decodes to. *)
  Definition last_symbols (x : list vector) : list nat := map argmax (skipn (length x - 1) x).

  Lemma last_symbols_of : forall (f : vector -> vector) rows, rows <> [] ->
    last_symbols (map f rows) = [argmax (f (nth (length rows - 1) rows []))].
  Proof.
    intros f rows H. unfold last_symbols. rewrite map_length, skipn_map, (last_only _ rows []) by assumption. reflexivity.
  Qed.

  Lemma target_logits : forall m i x z, length x = width ->
    times p (row_of m i x z) (out target) = times p z (out t) ++ [- bound p].
  Proof.
    intros m i x z Hx. rewrite target_out. unfold times. rewrite map_app, map_map. f_equal.
    - apply map_ext. intro c. unfold row_of. apply inner_last; try assumption. apply frame_length, codes_length.
    - cbn [map]. f_equal. unfold row_of.
      rewrite inner_first; try assumption; [|unfold frame; rewrite !app_length, zeros_length, codes_length; reflexivity].
      unfold frame. rewrite two_terms by (try apply multiply_representable; assumption).
      rewrite multiply_0_r by assumption.
      rewrite one_multiply by (try apply opposite_representable, bound_representable; assumption).
      apply add_0_r, opposite_representable, bound_representable. assumption.
  Qed.

  Lemma nth_of_range : forall (g : nat -> vector) k i, (i < k)%nat -> nth i (map g (seq 0 k)) [] = g i.
  Proof.
    intros g k i H. rewrite nth_indep with (d' := g 0%nat) by (rewrite map_length, seq_length; assumption).
    rewrite map_nth, seq_nth by assumption. reflexivity.
  Qed.

  (** One step: the same error, or the same symbol. *)
  Lemma step_agrees : forall tokens, tokens <> [] -> Forall (fun s => (s < symbols)%nat) tokens ->
    (S (length tokens) <= count)%nat ->
    (causal_logits p e target (tokens ++ [symbols]) = None /\ causal_logits p e t tokens = None)
    \/ exists x' x s, causal_logits p e target (tokens ++ [symbols]) = Some x' /\ causal_logits p e t tokens = Some x
                      /\ last_symbols x' = [s] /\ last_symbols x = [s] /\ (s < symbols)%nat.
  Proof.
    intros tokens Hne Htokens Hcount. destruct (embedded_state tokens Htokens Hcount) as [Hrows [y [Hy Hstate]]].
    assert (Hlength : length (embedded p t tokens) = length tokens)
      by (apply embedded_length; rewrite positions_are; lia).
    assert (Htokens0 : (0 < length tokens)%nat) by (destruct tokens; [tauto | simpl; lia]).
    assert (Hsymbols : (0 < symbols)%nat).
    { destruct tokens as [|s tokens]; [tauto|]. inversion Htokens as [|? ? Hs _]. lia. }
    unfold causal_logits. rewrite Hstate, target_layers, causal_layers_app.
    destruct (simulated_causal_layers (layers t) _ y layers_fit Hrows Hy) as [y' [Hy' ->]].
    destruct (causal_layers p e (layers t) (embedded p t tokens)) as [next|] eqn:E; [|left; split; reflexivity].
    apply causal_layers_numbers in E; [|apply layers_fit | assumption]. destruct E as [Hnext Hnumbers]. rewrite Hlength in Hnext.
    right. cbn [option_map causal_layers]. rewrite looked_back; try assumption.
    2: { rewrite Hnext, bits_are. apply Nat.le_trans with count; [assumption | apply codes_suffice]. }
    cbn [option_map].
    assert (Hnext0 : next <> []) by (destruct next; [simpl in Hnext; lia | discriminate]).
    assert (Hout : times p (nth (length next - 1) next []) (out t) <> []).
    { destruct shape as [_ [_ [[Ho _] _]]]. unfold times. destruct (out t); [simpl in Ho; lia | discriminate]. }
    eexists. eexists. exists (argmax (times p (nth (length next - 1) next []) (out t))).
    split; [reflexivity|]. split; [reflexivity|]. split; [|split].
    - rewrite last_symbols_of by discriminate. f_equal. rewrite map_length, seq_length.
      replace (S (length next) - 1)%nat with (length next) by lia. rewrite nth_of_range by lia.
      rewrite target_logits.
      + unfold stream. rewrite app_nth1 by lia. apply argmax_last; [assumption|].
        apply Forall_map, Forall_forall. intros c _. apply (inner_ok p p_positive).
      + unfold stream. rewrite app_nth2, Nat.sub_diag by lia. apply Hy'.
    - apply last_symbols_of. assumption.
    - eapply Nat.lt_le_trans; [apply argmax_range; assumption|]. unfold times. rewrite map_length.
      destruct shape as [_ [_ [[Ho _] _]]]. lia.
  Qed.

  Lemma runs_agree : forall word, word <> [] -> Forall (fun s => (s < symbols)%nat) word ->
    forall steps, (length word + steps <= count)%nat ->
    run_chain p e target [symbols] word steps = run_chain p e t [] word steps
    /\ forall generated, run_chain p e t [] word steps = Some generated ->
       length generated = steps /\ Forall (fun s => (s < symbols)%nat) generated.
  Proof.
    intros word Hne Hword steps. induction steps as [|steps IH]; intro Hcount.
    - split; [reflexivity|]. intros generated H. injection H as <-. split; [reflexivity | constructor].
    - destruct (IH ltac:(lia)) as [IH1 IH2]. cbn [run_chain]. rewrite IH1.
      destruct (run_chain p e t [] word steps) as [g|] eqn:E; [|split; [reflexivity | discriminate]].
      destruct (IH2 g eq_refl) as [Hg Hall].
      change (option_map (fun x => g ++ last_symbols x) (causal_logits p e target (word ++ g ++ [symbols]))
              = option_map (fun x => g ++ last_symbols x) (causal_logits p e t (word ++ g ++ []))
              /\ forall generated, option_map (fun x => g ++ last_symbols x) (causal_logits p e t (word ++ g ++ [])) = Some generated ->
                 length generated = S steps /\ Forall (fun s => (s < symbols)%nat) generated).
      rewrite app_nil_r, app_assoc.
      destruct (step_agrees (word ++ g)) as [[-> ->]|[x' [x [s [-> [-> [Hx' [Hx Hs]]]]]]]].
      + destruct word; [tauto | discriminate].
      + apply Forall_app. split; assumption.
      + rewrite app_length. lia.
      + split; [reflexivity | discriminate].
      + cbn [option_map]. rewrite Hx', Hx. split; [reflexivity|]. intros generated H. injection H as <-.
        rewrite app_length, Hg. split; [simpl; lia|]. apply Forall_app. split; [assumption | repeat constructor; assumption].
  Qed.

  (** Its matrices have their full shapes, and their entries are numbers of F_p. *)
  Lemma numbers_app : forall a b x y, numbers p a x -> numbers p b y -> numbers p (a + b) (x ++ y).
  Proof. intros a b x y [H1 H2] [H3 H4]. split; [rewrite app_length; congruence | apply Forall_app; split; assumption]. Qed.

  Lemma zeros_numbers : forall n, numbers p n (zeros n).
  Proof. intro n. split; [apply zeros_length | apply zeros_ok; assumption]. Qed.

  Lemma three_parts : forall f x z, numbers p (known bits) f -> numbers p width x -> numbers p width z ->
    numbers p (wider width bits) (f ++ x ++ z).
  Proof. intros. unfold wider. apply numbers_app; [assumption | apply numbers_app; assumption]. Qed.

  Lemma first_part : forall a b cs, representable p a -> representable p b -> numbers p (bits + bits) cs ->
    numbers p (known bits) ([a; b] ++ cs).
  Proof. intros a b cs Ha Hb Hcs. unfold known. apply (numbers_app 2 (bits + bits)); [|assumption].
    split; [reflexivity|]. repeat (apply Forall_cons; [assumption|]). apply Forall_nil.
  Qed.

  Lemma lifted : forall x, numbers p width x -> numbers p (wider width bits) (lift width bits x).
  Proof. intros. apply three_parts; try apply zeros_numbers. assumption. Qed.

  Lemma two_alone : forall a b, representable p a -> representable p b ->
    numbers p (wider width bits) (([a; b] ++ zeros (bits + bits)) ++ zeros width ++ zeros width).
  Proof. intros. apply three_parts; try apply zeros_numbers. apply first_part; try assumption. apply zeros_numbers. Qed.

  Lemma matrix_app : forall a b size xs ys, matrix p a size xs -> matrix p b size ys -> matrix p (a + b) size (xs ++ ys).
  Proof. intros a b size xs ys [H1 H2] [H3 H4]. split; [rewrite app_length; congruence | apply Forall_app; split; assumption]. Qed.

  Lemma matrix_map : forall number size size' (f : vector -> vector) xs, matrix p number size xs ->
    (forall x, numbers p size x -> numbers p size' (f x)) -> matrix p number size' (map f xs).
  Proof.
    intros number size size' f xs [H1 H2] Hf. split; [rewrite map_length; assumption|]. apply Forall_map.
    eapply Forall_impl; [|exact H2]. assumption.
  Qed.

  Lemma nothing_matrix : forall size number, matrix p number size (nothing size number).
  Proof.
    intros size number. split; [apply repeat_length|]. apply Forall_forall. intros x Hx. apply repeat_spec in Hx. subst.
    apply zeros_numbers.
  Qed.

  Lemma matrix_cons : forall number size x xs, numbers p size x -> matrix p number size xs -> matrix p (S number) size (x :: xs).
  Proof. intros number size x xs H [H1 H2]. split; [simpl; congruence | constructor; assumption]. Qed.

  Lemma matrix_nil : forall size, matrix p 0 size [].
  Proof. intro. split; [reflexivity | constructor]. Qed.

  Lemma simulated_head_has_shape : forall h, head_has_shape p width h ->
    head_has_shape p (wider width bits) (simulated_head p width bits h).
  Proof.
    intros h [d [Hq [Hk Hv]]]. pose proof (one_representable p p_positive). pose proof (bound_representable p p_positive).
    pose proof (zero_representable p p_positive).
    exists (d + 2)%nat. cbn [wq wk wv simulated_head]. split; [|split].
    - apply matrix_app; [eapply matrix_map; [exact Hq | apply lifted]|].
      repeat (apply matrix_cons; [apply two_alone; assumption|]). apply matrix_nil.
    - apply matrix_app; [eapply matrix_map; [exact Hk | apply lifted]|].
      repeat (apply matrix_cons; [apply two_alone; assumption|]). apply matrix_nil.
    - unfold wider at 1. apply matrix_app; [apply nothing_matrix|].
      apply matrix_app; [eapply matrix_map; [exact Hv | apply lifted] | apply nothing_matrix].
  Qed.

  Lemma simulated_mlp_has_shape : forall m, mlp_has_shape p width m ->
    mlp_has_shape p (wider width bits) (simulated_mlp width bits m).
  Proof.
    intros m [hidden [H1 [Hb1 [H2 Hb2]]]]. exists hidden. cbn [w1 b1 w2 b2 simulated_mlp].
    split; [eapply matrix_map; [exact H1 | apply lifted]|]. split; [assumption|]. split.
    - destruct H1 as [-> _]. unfold wider. apply matrix_app; [apply nothing_matrix|].
      apply matrix_app; [assumption | apply nothing_matrix].
    - apply three_parts; try apply zeros_numbers. assumption.
  Qed.

  Lemma target_has_shape : has_shape p (S symbols) count (S symbols) (wider width bits) target.
  Proof.
    pose proof (one_representable p p_positive). pose proof (bound_representable p p_positive).
    pose proof (zero_representable p p_positive). pose proof (opposite_representable p _ (bound_representable p p_positive)).
    destruct shape as [He [[Hp1 Hp2] [Ho Hl]]]. split; [|split; [|split]].
    - rewrite target_embed, <- Nat.add_1_r. apply matrix_app; [eapply matrix_map; [exact He | apply lifted]|].
      apply matrix_cons; [apply two_alone; assumption | apply matrix_nil].
    - rewrite target_positions. split; [rewrite zip_length; rewrite seq_length; congruence|].
      apply Forall_forall. intros x Hx. unfold zip_with in Hx. apply in_map_iff in Hx. destruct Hx as [[i given] [<- Hin]].
      apply in_combine_r in Hin. rewrite Forall_forall in Hp2. cbn [fst snd]. unfold position_row.
      apply three_parts; [|apply Hp2; assumption | apply zeros_numbers]. apply first_part; try assumption.
      split; [apply codes_length | apply codes_ok].
    - rewrite target_out, <- Nat.add_1_r. apply matrix_app.
      + eapply matrix_map; [exact Ho|]. intros c Hc. apply three_parts; try apply zeros_numbers. assumption.
      + apply matrix_cons; [apply two_alone; assumption | apply matrix_nil].
    - rewrite target_layers. apply Forall_app. split.
      + apply Forall_map. eapply Forall_impl; [|exact Hl]. intros l [Hheads Hmlp]. split.
        * cbn [heads simulated_layer]. apply Forall_map. eapply Forall_impl; [|exact Hheads]. apply simulated_head_has_shape.
        * apply simulated_mlp_has_shape. assumption.
      + constructor; [|constructor]. split.
        * constructor; [|constructor]. apply head_of_has_shape; [assumption | apply eq_in_format; assumption|].
          intro k. unfold copied. destruct (_ <? _)%nat; [constructor | constructor; [assumption | constructor]].
        * apply mlp_of_has_shape; [assumption | constructor | intro k; split; [constructor | assumption]].
  Qed.
End Run.

(** A chain of thought and its parallel chain of thought, whose one mask is the last symbol, generate the same symbols
    after every number of steps, or both end in the error of a head that attends to nothing. *)
Theorem cot_to_pcot_is_right : forall p (e : exponential p) symbols rows width t, 1 <= p ->
  has_shape p symbols rows symbols width t ->
  forall word steps, word <> [] -> Forall (fun s => (s < symbols)%nat) word -> (length word + steps <= rows)%nat ->
  run_chain p e (cot_to_pcot p width t) [symbols] word steps = run_chain p e t [] word steps.
Proof.
  intros p e symbols rows width t Hp Hshape word steps Hne Hword Hrows.
  eapply runs_agree; try eassumption. reflexivity.
Qed.

(** One symbol and one layer more; the width is 2D + 2⌈log2 rows⌉ + 2. *)
Theorem cot_to_pcot_has_shape : forall p symbols rows width t, 1 <= p -> has_shape p symbols rows symbols width t ->
  has_shape p (S symbols) rows (S symbols) (2 * width + 2 * bits_for rows + 2) (cot_to_pcot p width t)
  /\ length (layers (cot_to_pcot p width t)) = S (length (layers t)).
Proof.
  intros p symbols rows width t Hp Hshape. split.
  - replace (2 * width + 2 * bits_for rows + 2)%nat with (wider width (bits_for rows)) by (unfold wider, known; lia).
    eapply target_has_shape; try eassumption. reflexivity.
  - unfold cot_to_pcot. cbn [layers]. rewrite app_length, map_length. cbn [length]. lia.
Qed.
