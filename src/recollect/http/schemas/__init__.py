"""What is said over HTTP, both ways: every body, every answer, with its limits. OpenAPI is made of these."""
