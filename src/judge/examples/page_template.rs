//! The template of a new rule page, which can be loaded and whose test lists what has to be filled in.

/// Returns the text of a new rule page with this name.
pub fn page_template(name: &str) -> String {
    let since = env!("CARGO_PKG_VERSION");
    format!(
        r#"# {name}

```toml rule
severity = "warning"
since = "{since}"
status = "preview"
when = 'image.base.tag == "fill-in"'
blame = "image.base"
message = "fill in: the problem with {{image.base}}, in one line"
help = "fill in: the fix, in one line"
```

Detects fill in: what the rule finds, in one sentence.

## What goes wrong

Fill in: what the user sees, with the exact error message.

## Why

Fill in: the cause.

## What to do

Fill in: the change that fixes it.

## When to ignore it

Fill in: when the finding does not apply.

## Examples

### Fill in: an input that the rule reports

```dockerfile
# warning: {name}
FROM nvidia/cuda:12.4.1-base-ubuntu22.04
```

### Fill in: a similar input that the rule does not report

```dockerfile
FROM nvidia/cuda:12.4.1-base-ubuntu22.04
```

## References

- Fill in: the source
"#
    )
}
