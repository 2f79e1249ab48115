"""Other engines over a store's files: Spark, Sail and DataFusion run the relations' own SQL.

``portable`` writes the relations and the questions in another engine's dialect; ``spark`` and ``datafusion`` register
them in a session. Users import :mod:`fxstore.spark` and :mod:`fxstore.datafusion`.
"""
