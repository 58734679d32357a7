//! Tests of the effects of commands on files.

use crate::build::{Destination, DownloadTarget, FileChanges, FileEffect, Operand, PackedMember};
use crate::dockerfile::MappedText;
use crate::dockerfile::context::resolve_path;
use crate::shell::script_commands;

/// Returns the effect of the last command of a script in short: its kind, operands and destination.
fn effect(script: &str) -> String {
    let commands = script_commands(&MappedText::contiguous(script, 0));
    let text = |operand: &Operand| operand.text.clone().unwrap_or("?".to_owned());
    let list = |operands: &[Operand]| operands.iter().map(text).collect::<Vec<_>>().join(" ");
    let optional = |operand: Option<&Operand>| operand.map_or("-".to_owned(), text);
    match FileEffect::of_command(commands.last().expect("a command")) {
        FileEffect::Nothing => "nothing".to_owned(),
        FileEffect::Packages => "packages".to_owned(),
        FileEffect::Unknown => "unknown".to_owned(),
        FileEffect::Transfer { kind, sources, to, recursive, selective } => {
            let (how, to) = match &to {
                Destination::Folder(to) => ("into", to),
                Destination::Path(to) => ("to", to),
                Destination::File(to) => ("as", to),
            };
            let all = if recursive { " all of" } else { "" };
            let perhaps = if selective { "perhaps " } else { "" };
            format!("{perhaps}{kind:?}{all} {} {how} {}", list(&sources), text(to))
        }
        FileEffect::Remove(paths) => format!("remove {}", list(&paths)),
        FileEffect::MakeDirectory(paths) => format!("folder {}", list(&paths)),
        FileEffect::Create(files) => format!("create {}", list(&files)),
        FileEffect::Write(files) => format!("write {}", list(&files)),
        FileEffect::Download { may_have_options: true, .. } => "unclear download".to_owned(),
        FileEffect::Download { addresses, to, .. } => match to {
            DownloadTarget::StandardOutput => format!("print {}", list(&addresses)),
            DownloadTarget::File(file) => format!("download {} as {}", list(&addresses), text(&file)),
            DownloadTarget::RemoteName { folder, server_named } => {
                let by = if server_named { " by server" } else { "" };
                format!("download {} into {}{by}", list(&addresses), optional(folder.as_ref()))
            }
        },
        FileEffect::Unpack { archive, folder } => {
            format!("unpack {} into {}", optional(archive.as_ref()), optional(folder.as_ref()))
        }
        FileEffect::Pack { archive, members } => {
            let member = |member: &PackedMember| match &member.folder {
                Some(folder) => format!("{} of {}", text(&member.path), text(folder)),
                None => text(&member.path),
            };
            let members: Vec<String> = members.iter().map(member).collect();
            format!("pack {} into {}", members.join(", "), optional(archive.as_ref()))
        }
        FileEffect::Clone { address, folder, inside } => {
            format!("clone {} {} {}", text(&address), optional(folder.as_ref()), optional(inside.as_ref()))
        }
    }
}

#[test]
fn a_program_copies_between_urls_and_files() {
    for (script, expected) in [
        ("gdown 1AbC", "Copy all of ? to ."),
        (
            "gdown https://drive.google.com/uc?id=1AbC -O /models/a.pt",
            "download https://drive.google.com/uc?id=1AbC as /models/a.pt",
        ),
        ("gdown --folder https://drive.google.com/drive/folders/1AbC", "unknown"),
        ("gsutil -m cp gs://bucket/torch.whl /wheels/", "download gs://bucket/torch.whl into /wheels/"),
        ("gsutil cp gs://bucket/torch.whl /wheels/t.whl", "download gs://bucket/torch.whl as /wheels/t.whl"),
        ("gsutil cp gs://bucket/torch.whl /wheels", "Copy all of ? to /wheels"),
        ("gsutil -m cp -r gs://bucket/models /models", "Copy all of ? to /models"),
        ("gsutil cp a.txt gs://bucket/a.txt", "nothing"),
        ("gsutil cp a.txt b.txt", "Copy a.txt to b.txt"),
        ("gsutil cp \"gs://bucket/*.txt\" .", "Copy all of ? to ."),
        ("gsutil rsync gs://bucket/models /models", "unknown"),
        ("gsutil", "unknown"),
        ("aws s3 cp s3://bucket/a.whl . --region us-east-1", "download s3://bucket/a.whl into ."),
        ("aws s3 cp --recursive s3://bucket/a /a", "Copy all of ? to /a"),
        ("aws s3 cp --dryrun s3://bucket/a.whl .", "nothing"),
        ("aws --profile x s3 cp s3://bucket/a.whl b.whl", "download s3://bucket/a.whl as b.whl"),
        ("aws s3 sync s3://bucket/a /a", "unknown"),
    ] {
        assert_eq!(effect(script), expected, "{script}");
    }
}

#[test]
fn effect_follows_the_options_of_each_program() {
    for (script, expected) in [
        ("cp a b", "Copy a to b"),
        ("cp -f a b/", "Copy a into b/"),
        ("cp -ar a b c", "Copy all of a b into c"),
        ("cp -t c a b", "Copy a b into c"),
        ("cp --target-directory=c a", "Copy a into c"),
        ("cp -T a b", "Copy a as b"),
        ("cp -s /v/bin/python /usr/bin/python", "Link /v/bin/python to /usr/bin/python"),
        ("cp -- -a b", "Copy -a to b"),
        ("mv a b", "Move all of a to b"),
        ("ln -sf a", "Link a into ."),
        ("ln -s a b", "Link a to b"),
        ("ln a b", "Copy a to b"),
        ("cp -al a b", "Copy all of a to b"),
        ("install -m 755 -o root a /usr/bin/a", "Copy a to /usr/bin/a"),
        ("install -d -m 755 a b", "folder a b"),
        ("rsync -a --delete src/ /app/", "Copy all of src/. into /app/"),
        ("rsync -a --exclude .git src /app/", "perhaps Copy all of src into /app/"),
        ("cp -n a b", "perhaps Copy a to b"),
        ("cp --parents a/b c", "unknown"),
        ("ln -sfn a b", "Link a as b"),
        ("wget -P d -O f https://h/x", "download https://h/x as f"),
        ("curl -o a https://h/x -o b https://h/y", "write a b x y"),
        ("awk '{print}' f", "nothing"),
        ("awk '{print > \"f\"}' g", "unknown"),
        ("git clone -qb v1 https://h/p", "clone https://h/p - -"),
        ("perl -pie f", "unknown"),
        ("rsync -an src/ /app/", "nothing"),
        ("rm -rf a $(b)", "remove a ?"),
        ("mkdir -p -m 755 a", "folder a"),
        ("touch -d now a", "create a"),
        ("tee -a a", "write a"),
        ("truncate -s 0 a", "write a"),
        ("sort -o a b", "write a"),
        ("sed -i s/a/b/ f g", "write f g"),
        ("sed -i.bak -e s/a/b/ f", "write f"),
        ("sed -ni s/a/b/ f", "write f"),
        ("sed -n p f", "nothing"),
        ("perl -pi -e s/a/b/ f", "write f"),
        ("perl -0pi -e s/a/b/ f", "write f"),
        ("perl x.pl", "unknown"),
        ("curl -fsSL https://h/x", "print https://h/x"),
        ("curl -u me:secret -O https://h/x", "download https://h/x into -"),
        ("curl -XPOST -o=FILE https://h/x", "download https://h/x as =FILE"),
        ("curl -XPOST -oFILE https://h/x", "download https://h/x as FILE"),
        ("curl -fsSLo f https://h/x", "download https://h/x as f"),
        ("curl --output-dir d -o f --url https://h/x", "download https://h/x as d/f"),
        ("curl -JLO https://h/x", "download https://h/x into - by server"),
        ("curl -o - https://h/x", "print https://h/x"),
        ("curl $(b) https://h/x", "unclear download"),
        ("wget -nv https://h/x", "download https://h/x into -"),
        ("wget -qP/tmp https://h/x", "download https://h/x into /tmp"),
        ("wget -qO- https://h/x", "print https://h/x"),
        ("wget -o log https://h/x", "download https://h/x into -"),
        ("wget --spider https://h/x", "nothing"),
        ("wget -i list", "unknown"),
        ("aria2c -x 8 --dir=/tmp -o f https://h/x", "download https://h/x as /tmp/f"),
        ("tar xzf a.tgz", "unpack a.tgz into -"),
        ("tar -xzf a.tgz -C /opt --strip-components=1", "unpack a.tgz into /opt"),
        ("tar xfC a.tgz /opt", "unpack a.tgz into /opt"),
        ("tar --extract --file=a.tgz --directory /opt", "unpack a.tgz into /opt"),
        ("tar -xJ -C/opt", "unpack - into /opt"),
        ("tar -tf a.tgz", "nothing"),
        ("tar czf a.tgz b", "pack b into a.tgz"),
        ("tar c b", "pack b into -"),
        ("tar czf a.tgz --remove-files b", "unknown"),
        ("./install -m 755 a b", "unknown"),
        ("/opt/venv/bin/pip install a", "packages"),
        ("/usr/bin/install a b", "Copy a to b"),
        ("tar -c -f a.tgz -C / v etc -C /w x", "pack v of /, etc of /, x of /w into a.tgz"),
        ("tar $(b) a.tgz", "unknown"),
        ("unzip -q a.zip -d /opt", "unpack a.zip into /opt"),
        ("unzip -l a.zip", "nothing"),
        ("7z x -o/opt a.7z", "unpack a.7z into /opt"),
        ("7z l a.7z", "nothing"),
        ("git clone --depth 1 -b v1 https://h/p.git /p", "clone https://h/p.git /p -"),
        ("git -C /opt clone --filter blob:none git@h:o/p.git", "clone git@h:o/p.git - /opt"),
        ("git config --global x y", "nothing"),
        ("git checkout main", "unknown"),
        ("uv lock", "packages"),
        ("uv lock --upgrade-package torch", "write uv.lock"),
        ("find . -name x", "nothing"),
        ("find . -name x -delete", "unknown"),
        (". /v/bin/activate", "nothing"),
        ("python3 -m venv /v", "packages"),
        ("python3 x.py", "unknown"),
        ("./x", "unknown"),
    ] {
        assert_eq!(effect(script), expected, "{script}");
    }
}

/// Whether a script may change `/app/p.txt`.
fn changes_file(text: &str) -> bool {
    let commands = script_commands(&MappedText::contiguous(text, 0));
    commands.iter().any(|command| {
        let folder = command.folder.as_deref().map(|folder| resolve_path("/app", folder));
        let changes = FileChanges::of_command(command, folder.as_deref());
        changes.is_some_and(|changes| changes.may_change("/app/p.txt"))
    })
}

#[test]
fn read_only_commands_leave_a_file_unchanged() {
    for text in [
        "apt-get update && apt-get install -y $PACKAGES && rm -rf /var/lib/apt/lists/*",
        "cat p.txt; grep x p.txt > /dev/null; pip install -r p.txt",
        "mkdir -p a; cd a; chmod 600 p.txt",
        "sed s/a/b/ p.txt; sed -i s/a/b/ q.txt; rm -f *.log",
        "curl -fsSL $(x)://h -o /tmp/x; wget https://h/q.whl; cp a.so b.so; ln -sf /a /b",
        "find . -name p.txt; python3 -m pip install x; . /venv/bin/activate",
        "echo x >> q.txt; mv q.txt r.txt",
        "perl -pi -e s/a/b/ q.txt; sort -o q.txt p.txt; install -m 644 p.txt /q/p.txt; cp p.txt /q/",
        "(cd /tmp && tar xf a.tgz); tar xf a.tgz -C /opt; tar tf a.tgz; unzip -l a.zip; unzip a.zip -d /opt",
        "cd /tmp && git clone https://h/x && wget https://h/p.txt",
        "curl -O https://h/x; wget https://h/x; aria2c -d /app https://h/x; cd /opt; truncate -s 0 p.txt",
    ] {
        assert!(!changes_file(text), "{text}");
    }
    for text in [
        "perl -pi -e s/a/b/ p.txt",
        "find . -name '*.txt' -exec sed -i s/a/b/ {} +",
        "find . -delete",
        "ln -sf q.txt p.txt",
        "ex -sc '%s/a/b/|x' p.txt",
        "./patch.sh",
        "bash patch.sh",
        "echo x | sh",
        "python3 x.py",
        "python3 -c x",
        "make",
        ". ./env.sh",
        "$(y) p.txt",
        "echo x >> p.txt",
        "echo x > $(y)",
        "echo x | tee p.txt",
        "sed -i s/a/b/ p.txt",
        "sed -ri s/a/b/ *.txt",
        "cp -r other/. .",
        "cp other/* .",
        "mv $(y) .",
        "rm -f *.txt",
        "rm -rf /app",
        "rm -rf /app/*",
        "tar xf x.tar",
        "git checkout x",
        "curl -o p.txt https://h/x",
        "curl -sSLo p.txt https://h/x",
        "curl -O https://h/p.txt",
        "wget https://h/p.txt",
        "wget $(y)",
    ] {
        assert!(changes_file(text), "{text}");
    }
}
