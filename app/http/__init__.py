"""HTTP shared by all features: errors, request parsing, ETags, middleware, rate limit, OpenAPI."""
