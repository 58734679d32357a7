//! A page to start from: it can be loaded, and its test says what is to be filled in.

/// The text of a new page of that name.
pub fn skeleton(name: &str) -> String {
    let since = env!("CARGO_PKG_VERSION");
    format!(
        r#"# {name}

```toml rule
severity = "warning"
since = "{since}"
status = "preview"
when = 'image.base.tag == "fill-in"'
blame = "image.base"
message = "fill in: what is wrong with {{image.base}}, in one line"
help = "fill in: what to do, in one line"
```

Detects fill in: what the rule finds, in one sentence.

## What goes wrong

Fill in: what a user sees, with the exact words of the error.

## Why

Fill in: what brings it about.

## What to do

Fill in: the change that helps.

## When to ignore it

Fill in: where it is right as it is.

## Examples

### Fill in: an input that the page speaks of, and the condition that finds it

```dockerfile
# warning: {name}
FROM nvidia/cuda:12.4.1-base-ubuntu22.04
```

### Fill in: an input that is one fact away, of which nothing is said

```dockerfile
FROM nvidia/cuda:12.4.1-base-ubuntu22.04
```

## References

- Fill in: where this is known from
"#
    )
}
