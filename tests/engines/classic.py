"""Asks PySpark: ``python -m tests.engines.classic STORE FOLDER QUESTIONS`` writes each answer into the folder."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pyarrow.parquet as pq

from fxstore import spark

WORKERS = "local-cluster[2,1,1024]"


def main(store: str, folder: Path, questions: str) -> None:
    from pyspark.sql import SparkSession

    session = (
        SparkSession.builder.master(WORKERS)
        .config("spark.ui.enabled", False)
        .config("spark.sql.shuffle.partitions", 4)
        .config("spark.sql.session.timeZone", "Asia/Kolkata")
        .getOrCreate()
    )
    for name in spark.register(session, store):
        pq.write_table(session.table(name).toArrow(), folder / f"{name}.parquet")
    for number, asked in enumerate(json.loads(questions)):
        pq.write_table(spark.ask(session, asked.pop("question"), **asked).toArrow(), folder / f"{number}.parquet")
    session.stop()


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]), sys.argv[3])
