"""Live capture: keeps, explains and verifies every graph that Dynamo makes of a call.

    import graphnet_ir

    model = graphnet_ir.capture(name="net", workspace="out")(model)
    model(x)                # out/net holds the graphs
    model.capture.explain()

torch.compile(model, backend="graphnet", options={"name": "net", "workspace": "out"}) does the same
for a program that calls torch.compile itself.
"""
