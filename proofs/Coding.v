(** How the elements of a monoid are coded, so that two of them can be multiplied by an MLP.

    Every element has left, right and result features, and there is a list of triples (l, r, g):

        g is a result feature of a·b   iff   there is a triple (l, r, g) with l in left(a) and r in right(b)

    An element is known by its result features. A verdict is a list of disjuncts, exactly one of which holds where the
    verdict is right: all of [present] are result features and, if given, [lacking] is not. *)

From Coq Require Import List Arith Lia Bool Sorting.Sorted.
From Unmask Require Import Monoid.
Import ListNotations.

Record disjunct := { present : list nat; lacking : option nat }.

Record coding := {
  left_features : nat;  (* how many there are; result features are numbered as left ones *)
  right_features : nat;
  left_of : nat -> list nat;
  right_of : nat -> list nat;
  result_of : nat -> list nat;
  triples : list (nat * nat * nat);
  accept_when : list disjunct;
  reject_when : list disjunct
}.

Definition member (x : nat) (l : list nat) : bool := existsb (Nat.eqb x) l.

(** Some unit of the pair (a, b) says that g is a result feature. *)
Definition fires (c : coding) (a b : nat) (triple : nat * nat * nat) : bool :=
  let '(l, r, _) := triple in member l (left_of c a) && member r (right_of c b).
Definition result (triple : nat * nat * nat) : nat := snd triple.

Definition disjunct_holds (c : coding) (a : nat) (d : disjunct) : bool :=
  forallb (fun g => member g (result_of c a)) (present d)
  && match lacking d with None => true | Some x => negb (member x (result_of c a)) end.

(** Increasing numbers below a bound. *)
Definition increasing (bound : nat) (l : list nat) : Prop := StronglySorted lt l /\ Forall (fun x => x < bound) l.

Definition disjunct_fits (features : nat) (d : disjunct) : Prop :=
  increasing features (present d)
  /\ match lacking d with None => True | Some x => x < features /\ ~ In x (present d) end.

Record codes (m : monoid) (c : coding) : Prop := {
  left_increasing : forall a, a < size m -> increasing (left_features c) (left_of c a);
  right_increasing : forall a, a < size m -> increasing (right_features c) (right_of c a);
  result_increasing : forall a, a < size m -> increasing (left_features c) (result_of c a);
  triples_fit : Forall (fun t => let '(l, r, g) := t in l < left_features c /\ r < right_features c) (triples c);
  products_are_coded : forall a b g, a < size m -> b < size m -> g < left_features c ->
    existsb (fun t => (result t =? g) && fires c a b t) (triples c) = member g (result_of c (product m a b));
  elements_are_known : forall a b, a < size m -> b < size m ->
    forallb (fun g => member g (result_of c b)) (result_of c a) = (a =? b);
  verdicts_fit : Forall (disjunct_fits (left_features c)) (accept_when c ++ reject_when c);
  accepting_is_coded : forall a, a < size m ->
    length (filter (disjunct_holds c a) (accept_when c)) = (if accepting m a then 1 else 0)
    /\ length (filter (disjunct_holds c a) (reject_when c)) = (if accepting m a then 0 else 1)
}.

Definition just (a : nat) : disjunct := {| present := [a]; lacking := None |}.

(** Table: every element is its own feature, and there is a triple for every pair. *)
Definition table_coding (m : monoid) : coding := {|
  left_features := size m;
  right_features := size m;
  left_of a := [a];
  right_of a := [a];
  result_of a := [a];
  triples := flat_map (fun a => map (fun b => (a, b, product m a b)) (seq 0 (size m))) (seq 0 (size m));
  accept_when := map just (filter (accepting m) (seq 0 (size m)));
  reject_when := map just (filter (fun a => negb (accepting m a)) (seq 0 (size m))) |}.

Lemma increasing_single : forall bound a, a < bound -> increasing bound [a].
Proof. intros. split; repeat constructor. assumption. Qed.

Lemma filter_single : forall (test : nat -> bool) n a, a < n ->
  length (filter (fun b => (b =? a) && test b) (seq 0 n)) = if test a then 1 else 0.
Proof.
  intros test n a Ha.
  assert (general : forall k first, length (filter (fun b => (b =? a) && test b) (seq first k))
                                    = if (first <=? a) && (a <? first + k) && test a then 1 else 0).
  { induction k as [|k IH]; intro first; simpl.
    - replace ((first <=? a) && (a <? first + 0)) with false; [reflexivity|].
      symmetry. apply andb_false_iff. rewrite Nat.leb_gt, Nat.ltb_ge. lia.
    - destruct (Nat.eqb_spec first a) as [->|Hne]; simpl.
      + destruct (test a); simpl; rewrite IH; destruct (Nat.leb_spec (S a) a); try lia; simpl;
          rewrite Nat.leb_refl; destruct (Nat.ltb_spec a (a + S k)); try lia; reflexivity.
      + rewrite IH. replace ((S first <=? a) && (a <? S first + k)) with ((first <=? a) && (a <? first + S k));
          [reflexivity|].
        apply Bool.eq_true_iff_eq. rewrite !andb_true_iff, !Nat.leb_le, !Nat.ltb_lt. lia. }
  rewrite general. destruct (Nat.leb_spec 0 a); [|lia]. destruct (Nat.ltb_spec a (0 + n)); [|lia]. reflexivity.
Qed.

Lemma just_holds : forall m a b, disjunct_holds (table_coding m) a (just b) = (b =? a).
Proof. intros. unfold disjunct_holds, just, member. simpl. rewrite orb_false_r, !andb_true_r. reflexivity. Qed.

Lemma table_disjuncts : forall (m : monoid) (test : nat -> bool) a, a < size m ->
  length (filter (disjunct_holds (table_coding m) a) (map just (filter test (seq 0 (size m)))))
  = if test a then 1 else 0.
Proof.
  intros m test a Ha. rewrite <- (filter_single test (size m) a Ha).
  generalize (seq 0 (size m)). intro l. induction l as [|b l IH]; [reflexivity|]. cbn [filter].
  destruct (test b).
  - cbn [map filter]. rewrite just_holds, andb_true_r. destruct (b =? a); simpl; rewrite IH; reflexivity.
  - rewrite andb_false_r. assumption.
Qed.

Theorem table_coding_codes : forall m, lawful m -> codes m (table_coding m).
Proof.
  intros m laws. constructor.
  - intros. apply increasing_single. assumption.
  - intros. apply increasing_single. assumption.
  - intros. apply increasing_single. assumption.
  - apply Forall_forall. intros [[l r] g] H. simpl in H. apply in_flat_map in H. destruct H as [a [Ha H]].
    apply in_map_iff in H. destruct H as [b [E Hb]]. apply in_seq in Ha. apply in_seq in Hb. inversion E. subst. simpl.
    lia.
  - intros a b g Ha Hb Hg. apply Bool.eq_true_iff_eq. rewrite existsb_exists. unfold member. simpl. rewrite orb_false_r.
    split.
    + intros [[[l r] h] [Hin H]]. apply andb_true_iff in H. destruct H as [H1 H2]. unfold fires, member in H2.
      simpl in *.
      rewrite !orb_false_r in H2. apply andb_true_iff in H2. rewrite !Nat.eqb_eq in *. destruct H2. subst.
      apply in_flat_map in Hin. destruct Hin as [a' [_ Hin]]. apply in_map_iff in Hin. destruct Hin as [b' [E _]].
      inversion E. reflexivity.
    + intro H. apply Nat.eqb_eq in H. subst g. exists (a, b, product m a b). split.
      * apply in_flat_map. exists a. split; [apply in_seq; lia|]. apply in_map_iff. exists b.
        split; [reflexivity | apply in_seq; lia].
      * unfold fires, member, result. simpl. rewrite !Nat.eqb_refl. reflexivity.
  - intros a b Ha Hb. unfold member. simpl. rewrite orb_false_r, andb_true_r. reflexivity.
  - apply Forall_app. split; apply Forall_forall; intros d Hd; simpl in Hd; apply in_map_iff in Hd;
      destruct Hd as [a [<- Ha]]; apply filter_In in Ha; destruct Ha as [Ha _]; apply in_seq in Ha;
      (split; [apply increasing_single; simpl; lia | exact I]).
  - intros a Ha. split.
    + apply (table_disjuncts m (accepting m) a Ha).
    + transitivity (if negb (accepting m a) then 1 else 0); [|destruct (accepting m a); reflexivity].
      apply (table_disjuncts m (fun a => negb (accepting m a)) a Ha).
Qed.

(** Any other coding can be checked for a given monoid. *)
Fixpoint ascends (bound : nat) (l : list nat) : bool :=
  match l with
  | [] => true
  | x :: rest => (x <? bound) && forallb (fun y => x <? y) rest && ascends bound rest
  end.

Lemma ascends_increasing : forall bound l, ascends bound l = true -> increasing bound l.
Proof.
  intros bound l. induction l as [|x l IH]; intro H; [split; constructor|]. simpl in H.
  apply andb_true_iff in H. destruct H as [H Hrest]. apply andb_true_iff in H. destruct H as [Hx Hall].
  destruct (IH Hrest) as [Hs Hb]. rewrite forallb_forall in Hall.
  split; constructor; try assumption; [|apply Nat.ltb_lt; assumption].
  apply Forall_forall. intros y Hy. apply Nat.ltb_lt. auto.
Qed.

Definition disjunct_is_right (features : nat) (d : disjunct) : bool :=
  ascends features (present d)
  && match lacking d with None => true | Some x => (x <? features) && negb (member x (present d)) end.

Definition coding_is_right (m : monoid) (c : coding) : bool :=
  let elements := seq 0 (size m) in
  forallb (fun a => ascends (left_features c) (left_of c a) && ascends (right_features c) (right_of c a)
                    && ascends (left_features c) (result_of c a)) elements
  && forallb (fun t => let '(l, r, _) := t in (l <? left_features c) && (r <? right_features c)) (triples c)
  && forallb (fun a => forallb (fun b => forallb (fun g =>
       Bool.eqb (existsb (fun t => (result t =? g) && fires c a b t) (triples c))
                (member g (result_of c (product m a b))))
       (seq 0 (left_features c))) elements) elements
  && forallb (fun a => forallb (fun b =>
       Bool.eqb (forallb (fun g => member g (result_of c b)) (result_of c a)) (a =? b)) elements) elements
  && forallb (disjunct_is_right (left_features c)) (accept_when c ++ reject_when c)
  && forallb (fun a => (length (filter (disjunct_holds c a) (accept_when c)) =? if accepting m a then 1 else 0)
                       && (length (filter (disjunct_holds c a) (reject_when c)) =? if accepting m a then 0 else 1))
             elements.

Lemma member_spec : forall x l, member x l = true <-> In x l.
Proof.
  intros x l. unfold member. rewrite existsb_exists. split.
  - intros [y [Hy E]]. apply Nat.eqb_eq in E. subst. assumption.
  - intro H. exists x. split; [assumption | apply Nat.eqb_refl].
Qed.

Theorem coding_is_right_codes : forall m c, coding_is_right m c = true -> codes m c.
Proof.
  intros m c H. unfold coding_is_right in H. repeat (apply andb_true_iff in H; destruct H as [H ?]).
  rewrite forallb_forall in *.
  assert (Hin : forall a, a < size m -> In a (seq 0 (size m))) by (intros; apply in_seq; lia).
  constructor.
  - intros a Ha. specialize (H a (Hin a Ha)). repeat (apply andb_true_iff in H; destruct H as [H ?]).
    apply ascends_increasing. assumption.
  - intros a Ha. specialize (H a (Hin a Ha)). repeat (apply andb_true_iff in H; destruct H as [H ?]).
    apply ascends_increasing. assumption.
  - intros a Ha. specialize (H a (Hin a Ha)). repeat (apply andb_true_iff in H; destruct H as [H ?]).
    apply ascends_increasing. assumption.
  - apply Forall_forall. intros [[l r] g] Ht. specialize (H4 _ Ht). simpl in H4. apply andb_true_iff in H4.
    rewrite !Nat.ltb_lt in H4. assumption.
  - intros a b g Ha Hb Hg. specialize (H3 a (Hin a Ha)). rewrite forallb_forall in H3. specialize (H3 b (Hin b Hb)).
    rewrite forallb_forall in H3. apply Bool.eqb_prop, H3. apply in_seq. lia.
  - intros a b Ha Hb. specialize (H2 a (Hin a Ha)). rewrite forallb_forall in H2. apply Bool.eqb_prop, H2. auto.
  - apply Forall_forall. intros d Hd. specialize (H1 d Hd). unfold disjunct_is_right in H1.
    apply andb_true_iff in H1. destruct H1 as [Hp Hl]. split; [apply ascends_increasing; assumption|].
    destruct (lacking d) as [x|]; [|exact I]. apply andb_true_iff in Hl. destruct Hl as [Hx Hn]. apply Nat.ltb_lt in Hx.
    split; [assumption|]. intro E. apply member_spec in E. rewrite E in Hn. discriminate.
  - intros a Ha. specialize (H0 a (Hin a Ha)). apply andb_true_iff in H0. rewrite !Nat.eqb_eq in H0. assumption.
Qed.
