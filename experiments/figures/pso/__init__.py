"""PSO's figures: trials, claims, tables and pictures of ids pso-fig7 to pso-fig10 and x-misbehaving."""
