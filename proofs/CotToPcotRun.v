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
    intros rows i H. unfold hosted_rows. rewrite (zip_nth _ _ _ _ _ _ i 0%nat []) by (rewrite ?seq_length; assumption).
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
    unfold flag_term. rewrite multiply_0_l by assumption. rewrite !add_0_r; try apply inner_ok; try assumption.
    rewrite add_0_r; apply inner_ok; assumption.
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
    exists y'. split; [assumption|]. unfold causal_layer at 1. rewrite state_length, seq_S, map_app. simpl map at 2.
    rewrite firstn_all2 by (rewrite state_length; lia).
    replace (nth (length rows) (state rows y) []) with (mask_row (length rows) y).
    2: { unfold state. rewrite app_nth2 by (rewrite hosted_length; lia). rewrite hosted_length, Nat.sub_diag. reflexivity. }
    rewrite Hmask, all_or_error_last.
    rewrite (map_ext_in _ (fun i => option_map (hosted i) (layer_row p e l (firstn (S i) rows) (nth i rows [])))).
    - rewrite all_or_error_indexed. fold (causal_layer p e rows l).
      destruct (causal_layer p e rows l) as [next|] eqn:E; [|reflexivity]. simpl.
      apply causal_layer_numbers in E; try assumption. destruct E as [E _]. unfold state, hosted_rows. rewrite E. reflexivity.
    - intros i Hi. apply in_seq in Hi. unfold state at 2. rewrite app_nth1 by (rewrite hosted_length; lia).
      rewrite hosted_nth by lia. apply unflagged_row; try assumption.
      + rewrite Forall_forall in Hrows. apply Hrows, nth_In. lia.
      + unfold state. rewrite firstn_app, hosted_length. replace (S i - length rows)%nat with 0%nat by lia. simpl firstn at 3.
        rewrite app_nil_r. apply first_related. apply hosted_from. assumption.
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
    intros m i x z Hx Hz. unfold row_of, wider. rewrite !app_length, frame_length by apply codes_length. lia.
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
    unfold wider at 3. rewrite seq_app, map_app, Hnone by lia. f_equal. rewrite seq_app, map_app, Hnone by lia. f_equal.
    rewrite (vector_as_map x) at 2. rewrite Hx.
    rewrite <- (map_id (seq 0 width)), map_map. 
    assert (Hseq : forall first, seq first width = map (fun k => (first + k)%nat) (seq 0 width)).
    { intro first. clear. revert first. induction width as [|w IH]; intro first; [reflexivity|]. simpl. f_equal; [lia|].
      rewrite IH, <- seq_shift, map_map. apply map_ext. intro. lia. }
    rewrite Hseq, map_map. apply map_ext_in. intros k Hk. apply in_seq in Hk. simpl. unfold copied.
    destruct (Nat.ltb_spec (known bits + width + k) (known bits + width)); [lia|].
    assert (Hat : at_column (row_of m i x z) (known bits + width + k - width) = at_column x k).
    { unfold at_column, row_of. rewrite app_nth2; rewrite frame_length by apply codes_length; [|lia].
      replace (known bits + width + k - width - known bits)%nat with k by lia. apply app_nth1. lia. }
    rewrite lookup_value; try assumption; try (unfold wider; lia); rewrite Hat; [reflexivity|].
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
    2: { constructor; [|constructor].
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
    unfold wider at 1. rewrite !zeros_app. unfold own, row_of.
    destruct (Hstream i Hi) as [Hx Hxrep]. destruct (Hstream (i - 1)%nat ltac:(lia)) as [Hz Hzrep].
    pose proof (flag_known (flag rows i) i Hflag) as [_ [Hcs Hcsrep]].
    assert (Hframe : Forall (representable p) (frame p (flag rows i) (codes p bits i))).
    { pose proof (one_representable p p_positive). unfold frame. repeat constructor; assumption. }
    pose proof (frame_length p bits (flag rows i) (codes p bits i) Hcs) as HK.
    assert (Hzz : forall n, plus p (zeros n) (zeros n) = zeros n).
    { intro n. pose proof (plus_zeros p (zeros n) (zeros_ok p p_positive n)) as H. rewrite zeros_length in H. assumption. }
    rewrite !plus_framed by (rewrite ?plus_length; rewrite ?zeros_length; congruence).
    rewrite !Hzz. rewrite <- HK, <- Hx. rewrite !plus_zeros by assumption. rewrite !plus_zeros_r by assumption.
    rewrite Hx. rewrite <- Hz at 1. rewrite plus_zeros by assumption. rewrite <- Hz at 1 2.
    rewrite !plus_zeros_r by assumption. reflexivity.
  Qed.

  Lemma looked_back : forall rows y, Forall (numbers p width) rows -> numbers p width y ->
    (S (length rows) <= 2 ^ bits)%nat ->
    causal_layer p e (state rows y) (look_back p width bits)
    = Some (map (fun i => row_of (flag rows i) i (stream rows y i) (stream rows y (i - 1))) (seq 0 (S (length rows)))).
  Proof.
    intros rows y Hrows Hy Hbits. unfold causal_layer. rewrite state_length, <- all_are_results, map_map. f_equal.
    apply map_ext_in. intros i Hi. apply in_seq in Hi. apply look_back_row; try assumption. lia.
  Qed.
End Run.
