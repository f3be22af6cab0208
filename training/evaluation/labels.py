"""How models and metrics are called in tables."""

from __future__ import annotations

NAMES = {
    "tripod": "Tripod",
    "tripod_cart": "Tripod, cart alone",
    "popularity": "Popularity",
    "item_knn": "Item-KNN",
    "confidence": "Confidence",
    "ease": "EASE-R",
    "als": "ALS",
    "blend": "Blend without determinant",
    "personal_frequency": "Personal frequency",
    "tifu_knn": "TIFU-KNN",
    "up_cf": "UP-CF",
}
LABELS = {
    "mpr": "MPR",
    "hit@1": "hit@1",
    "hit@5": "hit@5",
    "hit@10": "hit@10",
    "hit@100": "hit@100",
    "ndcg@10": "NDCG@10",
    "mrr": "MRR",
    "nll": "NLL",
    "auc": "AUC",
    "log_likelihood": "log-lik.",
    "recall@10": "recall@10",
}
