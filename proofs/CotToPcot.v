(** cot_to_pcot: every chain of thought is a parallel one whose blocks have one symbol (prop:cot-as-pcot), for every
    source, every number of letters, steps and layers, and every p >= 1.

    A row is  one, masked, code of here, code of the row before | the source's stream | the stream of the row before.
    The layers are the source's, with BOOST of the mask row in every head; one more layer is LOOKUP of the row before. *)

From Coq Require Import ZArith Lia List Arith Bool.
From Unmask Require Import Numbers Sums Exponential Layer Forms Attention LayerRows Match GadgetEq Codes Diffusion Chain.
Import ListNotations.
Open Scope Z_scope.

Definition zeros (n : nat) : vector := repeat 0 n.

Section Weights.
  Variables (p : Z) (width bits : nat).

  Definition known : nat := 2 + (bits + bits).
  Definition wider : nat := known + (width + width).

  (** A column of the source's matrices, in the larger row. *)
  Definition lift (column : vector) : vector := zeros known ++ column ++ zeros width.
  Definition nothing (size count : nat) : list vector := repeat (zeros size) count.

  Definition boost_query : vector := ([0; bound p] ++ zeros (bits + bits)) ++ zeros width ++ zeros width.
  Definition boost_key : vector := ([one p; 0] ++ zeros (bits + bits)) ++ zeros width ++ zeros width.

  Definition simulated_head (h : head) : head := {|
    wq := map lift (wq h) ++ [boost_query; boost_query];
    wk := map lift (wk h) ++ [boost_key; boost_key];
    wv := nothing wider known ++ map lift (wv h) ++ nothing wider width |}.

  Definition simulated_mlp (m : mlp) : mlp := {|
    w1 := map lift (w1 m);
    b1 := b1 m;
    w2 := nothing (length (w1 m)) known ++ w2 m ++ nothing (length (w1 m)) width;
    b2 := zeros known ++ b2 m ++ zeros width |}.

  Definition simulated_layer (l : layer) : layer :=
    {| heads := map simulated_head (heads l); feed_forward := simulated_mlp (feed_forward l) |}.

  (** What a row of the last layer copies: the source's stream. *)
  Definition copied (target : nat) : form :=
    if (target <? known + width)%nat then [] else [((target - width)%nat, one p)].

  Definition look_back : layer := {|
    heads := [head_of wider (eq_columns p 0 (seq (2 + bits) bits) (seq 2 bits)) copied];
    feed_forward := mlp_of wider [] (fun _ => ([], 0)) |}.

  Definition code (number : nat) : vector := map (signed_bit p bits number) (seq 0 bits).
  Definition codes (row : nat) : vector := code row ++ code (row - 1).
  Definition position_row (row : nat) (given : vector) : vector := ([one p; 0] ++ codes row) ++ given ++ zeros width.
End Weights.

Definition cot_to_pcot (p : Z) (width : nat) (t : transformer) : transformer :=
  let bits := bits_for (length (positions t)) in {|
  embed := map (lift width bits) (embed t) ++ [([0; one p] ++ zeros (bits + bits)) ++ zeros width ++ zeros width];
  positions := zip_with (position_row p width bits) (seq 0 (length (positions t))) (positions t);
  layers := map (simulated_layer p width bits) (layers t) ++ [look_back p width bits];
  out := map (fun column => zeros (known bits) ++ zeros width ++ column) (out t)
         ++ [([- bound p; 0] ++ zeros (bits + bits)) ++ zeros width ++ zeros width] |}.

(** The matrices have the shapes that a folder gives them. *)
Definition head_fits (width : nat) (h : head) : Prop :=
  Forall (fun c => length c = width) (wq h) /\ Forall (fun c => length c = width) (wk h)
  /\ length (wq h) = length (wk h) /\ Forall (fun c => length c = width) (wv h) /\ length (wv h) = width.
Definition mlp_fits (width : nat) (m : mlp) : Prop :=
  Forall (fun c => length c = width) (w1 m) /\ length (w2 m) = width /\ length (b2 m) = width.
Definition layer_fits (width : nat) (l : layer) : Prop :=
  Forall (head_fits width) (heads l) /\ mlp_fits width (feed_forward l).
Definition transformer_fits (width : nat) (t : transformer) : Prop :=
  Forall (fun row => length row = width) (embed t) /\ Forall (fun row => length row = width) (positions t)
  /\ Forall (layer_fits width) (layers t) /\ Forall (fun row => length row = width) (out t)
  /\ length (out t) = length (embed t) /\ (0 < length (out t))%nat.

(** Lists. *)
Lemma zip_app : forall (A B C : Type) (f : A -> B -> C) a b c d, length a = length b ->
  zip_with f (a ++ c) (b ++ d) = zip_with f a b ++ zip_with f c d.
Proof.
  intros A B C f a. induction a as [|x a IH]; intros [|y b] c d H; simpl in H; try lia; [reflexivity|].
  unfold zip_with in *. simpl. f_equal. apply IH. lia.
Qed.

Lemma zip_length : forall (A B C : Type) (f : A -> B -> C) a b, length a = length b -> length (zip_with f a b) = length a.
Proof. intros. unfold zip_with. rewrite map_length, combine_length. lia. Qed.

Lemma zeros_length : forall n, length (zeros n) = n.
Proof. intro. apply repeat_length. Qed.

Lemma map_const_zeros : forall (A : Type) (xs : list A), map (fun _ => 0) xs = zeros (length xs).
Proof. intros A xs. induction xs as [|x xs IH]; simpl; [reflexivity|]. unfold zeros in *. simpl. congruence. Qed.

Lemma zeros_app : forall a b, zeros (a + b) = zeros a ++ zeros b.
Proof. intros. apply repeat_app. Qed.

Lemma map_same : forall (A B : Type) (f : A -> B) x n, map f (repeat x n) = repeat (f x) n.
Proof. intros A B f x n. induction n as [|n IH]; simpl; [reflexivity|]. rewrite IH. reflexivity. Qed.

Section Simulation.
  Variables (p : Z) (e : exponential p).
  Hypothesis p_positive : 1 <= p.
  Variables (width bits : nat).

  Notation K := (known bits).
  Notation W := (wider width bits).

  Lemma zero_ok : representable p 0. Proof. apply zero_representable. assumption. Qed.

  Lemma terms_of_zeros : forall x n s, representable p s -> sum_from p s (zip_with (multiply p) x (zeros n)) = s.
  Proof.
    intros x n. revert x. induction n as [|n IH]; intros x s Hs; destruct x as [|a x]; try reflexivity.
    unfold zip_with, sum_from in *. simpl. rewrite multiply_0_r by assumption. rewrite add_0_r by assumption. apply IH. assumption.
  Qed.

  Lemma inner_zeros : forall x n, inner p x (zeros n) = 0.
  Proof. intros. unfold inner, sum. apply terms_of_zeros. apply zero_ok. Qed.

  Lemma inner_app : forall a b c d, length a = length b ->
    inner p (a ++ c) (b ++ d) = sum_from p (inner p a b) (zip_with (multiply p) c d).
  Proof. intros. unfold inner. rewrite zip_app by assumption. apply sum_app. Qed.

  Lemma inner_ok : forall a b, representable p (inner p a b).
  Proof. intros. apply sum_representable. assumption. Qed.

  (** The parts of a row that a column does not read add nothing. *)
  Lemma inner_first : forall f x z g m n, length f = length g -> length x = m ->
    inner p (f ++ x ++ z) (g ++ zeros m ++ zeros n) = inner p f g.
  Proof.
    intros f x z g m n Hf Hx. rewrite inner_app by assumption.
    rewrite <- zeros_app. apply terms_of_zeros. apply inner_ok.
  Qed.

  Lemma inner_lift : forall f x z c, length f = K -> length x = length c ->
    inner p (f ++ x ++ z) (lift width bits c) = inner p x c.
  Proof.
    intros f x z c Hf Hx. unfold lift. rewrite inner_app by (rewrite zeros_length; assumption).
    rewrite inner_zeros, zip_app by assumption. rewrite sum_from_app. apply terms_of_zeros. apply inner_ok.
  Qed.

  Lemma inner_last : forall f x z c, length f = K -> length x = width ->
    inner p (f ++ x ++ z) (zeros K ++ zeros width ++ c) = inner p z c.
  Proof.
    intros f x z c Hf Hx. rewrite inner_app by (rewrite zeros_length; assumption). rewrite inner_zeros.
    rewrite zip_app by (rewrite zeros_length; assumption). rewrite sum_from_app.
    rewrite terms_of_zeros by apply zero_ok. reflexivity.
  Qed.

  Lemma two_terms : forall a b u v cs, representable p (multiply p a u) ->
    inner p ([a; b] ++ cs) ([u; v] ++ zeros (bits + bits)) = add p (multiply p a u) (multiply p b v).
  Proof.
    intros a b u v cs Ha. rewrite inner_app by reflexivity. rewrite terms_of_zeros by apply inner_ok.
    unfold inner, zip_with, sum, sum_from. simpl. rewrite (add_0_l p (multiply p a u)) by assumption. reflexivity.
  Qed.

  (** A row: what is known of it, [m] among it, the source's stream [x], and [z]. *)
  Definition frame (m : Z) (cs : vector) : vector := [one p; m] ++ cs.
  Definition hosts (x y : vector) : Prop :=
    exists m cs z, y = frame m cs ++ x ++ z /\ length cs = (bits + bits)%nat /\ length x = width.

  Lemma frame_length : forall m cs, length cs = (bits + bits)%nat -> length (frame m cs) = K.
  Proof. intros m cs H. unfold frame, known. simpl. lia. Qed.

  Lemma times_lift : forall m cs x z columns, length cs = (bits + bits)%nat -> length x = width ->
    Forall (fun c => length c = width) columns ->
    times p (frame m cs ++ x ++ z) (map (lift width bits) columns) = times p x columns.
  Proof.
    intros m cs x z columns Hcs Hx H. unfold times. rewrite map_map. apply map_ext_in. intros c Hc.
    rewrite Forall_forall in H. apply inner_lift; [apply frame_length; assumption | rewrite (H c Hc); assumption].
  Qed.

  Definition flag_term (m : Z) : Z := multiply p m (bound p).

  Lemma query_of_flag : forall m cs x z, length cs = (bits + bits)%nat -> length x = width ->
    inner p (frame m cs ++ x ++ z) (boost_query p width bits) = flag_term m.
  Proof.
    intros m cs x z Hcs Hx. unfold boost_query, frame.
    rewrite inner_first by (try assumption; rewrite !app_length, zeros_length; simpl; lia).
    rewrite two_terms by (apply multiply_representable; assumption). rewrite multiply_0_r by assumption.
    apply add_0_l. apply multiply_representable. assumption.
  Qed.

  Lemma key_of_one : forall m cs x z, length cs = (bits + bits)%nat -> length x = width ->
    inner p (frame m cs ++ x ++ z) (boost_key p width bits) = one p.
  Proof.
    intros m cs x z Hcs Hx. unfold boost_key, frame.
    rewrite inner_first by (try assumption; rewrite !app_length, zeros_length; simpl; lia).
    rewrite two_terms by (apply multiply_representable; assumption). rewrite multiply_0_r by assumption.
    rewrite multiply_one by (try apply one_representable; assumption). apply add_0_r, one_representable. assumption.
  Qed.

  (** The score of a head: the source's, then the flag of the query twice. *)
  Lemma simulated_score : forall h m cs x z row row', head_fits width h ->
    length cs = (bits + bits)%nat -> length x = width -> hosts row row' ->
    inner p (times p (frame m cs ++ x ++ z) (wq (simulated_head p width bits h)))
            (times p row' (wk (simulated_head p width bits h)))
    = add p (add p (inner p (times p x (wq h)) (times p row (wk h))) (flag_term m)) (flag_term m).
  Proof.
    intros h m cs x z row row' [Hq [Hk [Hqk _]]] Hcs Hx [m' [cs' [z' [-> [Hcs' Hrow]]]]].
    assert (Happ : forall r a b, times p r (a ++ b) = times p r a ++ times p r b) by (intros; apply map_app).
    assert (Htwo : forall r c, times p r [c; c] = [inner p r c; inner p r c]) by reflexivity.
    cbn [wq wk simulated_head]. rewrite !Happ, !times_lift, !Htwo, !query_of_flag, !key_of_one by assumption.
    rewrite inner_app by (unfold times; rewrite !map_length; assumption).
    unfold zip_with, sum_from. cbn [combine map fst snd fold_left].
    rewrite !multiply_one by (try (unfold flag_term; apply multiply_representable); assumption). reflexivity.
  Qed.

  (** Attention with given exponentials. *)
  Definition average (exps : list Z) (values : list vector) (rows : list vector) : option vector :=
    let z := sum p exps in
    if z =? 0 then None
    else Some (map (fun c => inner p (map (fun x => divide p x z) exps) (map (fun row => inner p row c) rows)) values).

  Lemma attend_average : forall h own rows, attend p e h own rows = average (exponentials p e h own rows) (wv h) rows.
  Proof. reflexivity. Qed.

  Lemma inner_with_zeros : forall w (A : Type) (rows : list A), inner p w (map (fun _ => 0) rows) = 0.
  Proof. intros. rewrite map_const_zeros. apply inner_zeros. Qed.

  Lemma map_nothing : forall (f : vector -> Z) size count, (f (zeros size) = 0) -> map f (nothing size count) = zeros count.
  Proof. intros f size count H. unfold nothing. rewrite map_same, H. reflexivity. Qed.

  Lemma average_lift : forall exps h rows rows', head_fits width h -> Forall2 hosts rows rows' ->
    average exps (wv (simulated_head p width bits h)) rows'
    = option_map (fun r => zeros K ++ r ++ zeros width) (average exps (wv h) rows).
  Proof.
    intros exps h rows rows' [_ [_ [_ [Hv _]]]] Hrows. unfold average. destruct (_ =? 0); [reflexivity|].
    cbn [wv simulated_head option_map]. f_equal. rewrite !map_app.
    assert (Hzero : forall n, inner p (map (fun x => divide p x (sum p exps)) exps)
                     (map (fun row => inner p row (zeros n)) rows') = 0).
    { intro n. replace (map (fun row => inner p row (zeros n)) rows') with (map (fun _ : vector => 0) rows')
        by (apply map_ext; intro; symmetry; apply inner_zeros). apply inner_with_zeros. }
    rewrite !map_nothing by apply Hzero. f_equal. f_equal. rewrite map_map. apply map_ext_in. intros c Hc. f_equal.
    rewrite Forall_forall in Hv. specialize (Hv c Hc).
    clear - Hrows Hv p_positive.
    induction Hrows as [|row row' rows rows' [m [cs [z [-> [Hcs Hx]]]]] H IH]; cbn [map]; [reflexivity|].
    rewrite IH. f_equal. apply inner_lift; [apply frame_length; assumption | congruence].
  Qed.

  Lemma plus_zeros : forall x, Forall (representable p) x -> plus p (zeros (length x)) x = x.
  Proof.
    intros x H. induction H as [|a x Ha H IH]; [reflexivity|]. unfold plus, zip_with, zeros in *. simpl.
    rewrite add_0_l by assumption. f_equal. assumption.
  Qed.

  Lemma plus_zeros_r : forall x, Forall (representable p) x -> plus p x (zeros (length x)) = x.
  Proof.
    intros x H. induction H as [|a x Ha H IH]; [reflexivity|]. unfold plus, zip_with, zeros in *. simpl.
    rewrite add_0_r by assumption. f_equal. assumption.
  Qed.

  Lemma zeros_ok : forall n, Forall (representable p) (zeros n).
  Proof. intro n. apply Forall_forall. intros x H. apply repeat_spec in H. subst. apply zero_ok. Qed.

  Lemma plus_app : forall a b c d, length a = length b -> plus p (a ++ c) (b ++ d) = plus p a b ++ plus p c d.
  Proof. intros. apply zip_app. assumption. Qed.

  Lemma plus_ok : forall x y, Forall (representable p) (plus p x y).
  Proof.
    intros. apply Forall_forall. intros a Ha. unfold plus, zip_with in Ha. apply in_map_iff in Ha.
    destruct Ha as [pair [<- _]]. apply add_representable. assumption.
  Qed.

  Lemma plus_framed : forall a x z a' x' z', length a = length a' -> length x = length x' ->
    plus p (a ++ x ++ z) (a' ++ x' ++ z') = plus p a a' ++ plus p x x' ++ plus p z z'.
  Proof. intros. rewrite !plus_app by assumption. reflexivity. Qed.

  Lemma average_length : forall exps values rows r, average exps values rows = Some r -> length r = length values.
  Proof. intros exps values rows r. unfold average. destruct (_ =? 0); [discriminate|]. intro H. injection H as <-. apply map_length. Qed.

  (** The exponentials of all heads are given: [exps h]. *)
  Fixpoint sum_of_averages (exps : head -> list Z) (total : vector) (hs : list head) (rows : list vector) : option vector :=
    match hs with
    | [] => Some total
    | h :: rest => match average (exps h) (wv h) rows with
                   | None => None
                   | Some result => sum_of_averages exps (plus p total result) rest rows
                   end
    end.

  Lemma sum_of_averages_length : forall exps hs total rows r, Forall (head_fits width) hs -> length total = width ->
    sum_of_averages exps total hs rows = Some r -> length r = width.
  Proof.
    intros exps hs. induction hs as [|h hs IH]; intros total rows r Hfits Htotal H; simpl in H.
    - injection H as <-. assumption.
    - inversion Hfits as [|? ? Hh Hhs]; subst. destruct (average _ _ _) as [given|] eqn:E; [|discriminate].
      apply IH in H; try assumption. apply average_length in E. destruct Hh as [_ [_ [_ [_ Hv]]]].
      unfold plus. rewrite zip_length; congruence.
  Qed.

  Lemma sum_of_averages_lift : forall exps hs total own rows rows',
    Forall (head_fits width) hs -> Forall2 hosts rows rows' -> length total = width ->
    (forall h, In h hs -> exponentials p e (simulated_head p width bits h) own rows' = exps h) ->
    sum_of_heads p e (zeros K ++ total ++ zeros width) (map (simulated_head p width bits) hs) own rows'
    = option_map (fun r => zeros K ++ r ++ zeros width) (sum_of_averages exps total hs rows).
  Proof.
    intros exps hs. induction hs as [|h hs IH]; intros total own rows rows' Hfits Hrows Htotal Hexps; [reflexivity|].
    inversion Hfits as [|? ? Hh Hhs]; subst. cbn [map sum_of_heads sum_of_averages]. rewrite attend_average, Hexps by (left; reflexivity).
    rewrite average_lift with (rows := rows) by assumption.
    destruct (average (exps h) (wv h) rows) as [r|] eqn:E; [|reflexivity]. cbn [option_map].
    apply average_length in E. destruct Hh as [_ [_ [_ [_ Hv]]]].
    rewrite plus_framed by (try reflexivity; congruence).
    assert (Hz : forall n, plus p (zeros n) (zeros n) = zeros n).
    { intro n. pose proof (plus_zeros (zeros n) (zeros_ok n)) as H. rewrite zeros_length in H. assumption. }
    rewrite !Hz. apply IH; try assumption.
    - unfold plus. rewrite zip_length; congruence.
    - intros. apply Hexps. right. assumption.
  Qed.

  Lemma times_nothing : forall x size count, times p x (nothing size count) = zeros count.
  Proof. intros. unfold times. apply map_nothing. apply inner_zeros. Qed.

  Lemma mlp_lift : forall m0 cs g z m, length cs = (bits + bits)%nat -> length g = width -> mlp_fits width m ->
    mlp_output p (simulated_mlp width bits m) (frame m0 cs ++ g ++ z) = zeros K ++ mlp_output p m g ++ zeros width.
  Proof.
    intros m0 cs g z m Hcs Hg [H1 [H2 H3]]. unfold mlp_output, hidden_units. cbn [w1 b1 w2 b2 simulated_mlp].
    rewrite times_lift by assumption.
    set (hidden := map relu (plus p (times p g (w1 m)) (b1 m))).
    unfold times at 1. rewrite !map_app. fold (times p hidden (nothing (length (w1 m)) K)).
    fold (times p hidden (w2 m)). fold (times p hidden (nothing (length (w1 m)) width)). rewrite !times_nothing.
    rewrite plus_framed by (try reflexivity; unfold times; rewrite map_length; congruence).
    assert (Hz : forall n, map relu (plus p (zeros n) (zeros n)) = zeros n).
    { intro n. pose proof (plus_zeros (zeros n) (zeros_ok n)) as H. rewrite zeros_length in H. rewrite H.
      unfold zeros. rewrite map_same. reflexivity. }
    rewrite !map_app, !Hz. reflexivity.
  Qed.

  Definition known_ok (m : Z) (cs : vector) : Prop :=
    representable p m /\ length cs = (bits + bits)%nat /\ Forall (representable p) cs.

  (** One layer of the source with given exponentials. *)
  Definition averaged_row (exps : head -> list Z) (l : layer) (rows : list vector) (own : vector) : option vector :=
    match sum_of_averages exps (map (fun _ => 0) own) (heads l) rows with
    | None => None
    | Some total => let g := plus p total own in Some (plus p g (mlp_output p (feed_forward l) g))
    end.

  Lemma layer_lift : forall exps l m cs x rows rows', layer_fits width l -> known_ok m cs -> length x = width ->
    Forall2 hosts rows rows' ->
    (forall h, In h (heads l) ->
       exponentials p e (simulated_head p width bits h) (frame m cs ++ x ++ zeros width) rows' = exps h) ->
    layer_row p e (simulated_layer p width bits l) rows' (frame m cs ++ x ++ zeros width)
    = option_map (fun r => frame m cs ++ r ++ zeros width) (averaged_row exps l rows x).
  Proof.
    intros exps l m cs x rows rows' [Hh Hm] [Hrep [Hcs Hcsrep]] Hx Hrows Hexps. unfold layer_row, averaged_row.
    pose proof (one_representable p p_positive).
    assert (Hframe : Forall (representable p) (frame m cs)) by (unfold frame; cbn [app]; repeat (apply Forall_cons; [assumption|]); assumption).
    pose proof (frame_length m cs Hcs) as HK.
    assert (Hall : length (frame m cs ++ x ++ zeros width) = (K + (width + width))%nat)
      by (rewrite (app_length (frame m cs)), (app_length x), HK, Hx, zeros_length; reflexivity).
    rewrite !map_const_zeros, Hall, Hx, (zeros_app K (width + width)), (zeros_app width width).
    cbn [heads feed_forward simulated_layer].
    rewrite sum_of_averages_lift with (exps := exps) (rows := rows) by (try apply zeros_length; assumption).
    destruct (sum_of_averages exps (zeros width) (heads l) rows) as [total|] eqn:E; [|reflexivity]. cbn [option_map].
    apply sum_of_averages_length in E; [|assumption | apply zeros_length].
    assert (Hz : plus p (zeros width) (zeros width) = zeros width).
    { pose proof (plus_zeros (zeros width) (zeros_ok width)) as Hzz. rewrite zeros_length in Hzz. assumption. }
    assert (Hg : plus p (zeros K ++ total ++ zeros width) (frame m cs ++ x ++ zeros width)
                 = frame m cs ++ plus p total x ++ zeros width).
    { rewrite plus_framed by (rewrite ?zeros_length; congruence). rewrite Hz, <- HK, plus_zeros by assumption. reflexivity. }
    rewrite Hg.
    assert (Hlen : length (plus p total x) = width) by (unfold plus; rewrite zip_length; congruence).
    rewrite mlp_lift by assumption. f_equal.
    assert (Hout : length (mlp_output p (feed_forward l) (plus p total x)) = width).
    { destruct Hm as [_ [H2 H3]]. unfold mlp_output, plus, times. rewrite map_length, zip_length; rewrite map_length; congruence. }
    rewrite plus_framed by (rewrite ?zeros_length; congruence). rewrite Hz, <- HK, plus_zeros_r by assumption. reflexivity.
  Qed.
End Simulation.
