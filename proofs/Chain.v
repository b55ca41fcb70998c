(** Chains of thought, sequential and parallel, as on the design page.

    Attention is causal: row i sees the rows 0 … i. One step reads word · generated · masks and appends what the last
    rows decode to: the last row where there are no masks (cot), the rows of the masks where there are (pcot).

    The word begins with the begin symbol, if the model has one. *)

From Coq Require Import ZArith List Arith.
From Unmask Require Import Numbers Exponential Layer Diffusion.
Import ListNotations.
Open Scope Z_scope.

Section Chain.
  Variables (p : Z) (e : exponential p).

  Definition causal_layer (rows : list vector) (l : layer) : option (list vector) :=
    all_or_error (map (fun i => layer_row p e l (firstn (S i) rows) (nth i rows [])) (seq 0 (length rows))).

  Fixpoint causal_layers (ls : list layer) (rows : list vector) : option (list vector) :=
    match ls with
    | [] => Some rows
    | l :: rest => match causal_layer rows l with None => None | Some next => causal_layers rest next end
    end.

  Definition causal_logits (t : transformer) (tokens : list nat) : option (list vector) :=
    option_map (map (fun h => times p h (out t))) (causal_layers (layers t) (embedded p t tokens)).

  (** All symbols generated after some steps; None is the error of a head that attends to nothing. *)
  Fixpoint run_chain (t : transformer) (masks word : list nat) (steps : nat) : option (list nat) :=
    match steps with
    | 0%nat => Some []
    | S steps =>
        match run_chain t masks word steps with
        | None => None
        | Some generated =>
            option_map (fun x => generated ++ map argmax (skipn (length x - Nat.max 1 (length masks)) x))
                       (causal_logits t (word ++ generated ++ masks))
        end
    end.
End Chain.
