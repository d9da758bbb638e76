"""Vector engines beside the store: LanceDB and Qdrant, off unless set. What they hold can always be made again."""
