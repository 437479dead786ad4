"""PSO in the controller: OpenFlow messages by class instead of in the order of their arrival."""
