//! Hosts in network namespaces of their own, and a link that is cut.

use super::{Host, completions, journal, project, user, wait_for_spawn, words};
use std::process::Command;
use wavecrew_test_support::nats_server::{NatsServer, NatsSetup};
use wavecrew_test_support::sandbox::{Sandbox, program, wait_until};

/// A server in the middle, and one namespace for each machine around it. Gone with the test.
struct Network {
    name: String,
    machines: Vec<&'static str>,
}

fn ip(words: &str) -> Result<(), String> {
    let done = Command::new("ip").args(words.split_whitespace()).output();
    match done {
        Ok(done) if done.status.success() => Ok(()),
        Ok(done) => Err(format!(
            "ip {words}: {}",
            String::from_utf8_lossy(&done.stderr).trim()
        )),
        Err(error) => Err(format!("ip {words}: {error}")),
    }
}

impl Network {
    /// Machine `n` reaches the server at 10.77.n.1. Prints why there is no network, if there is none.
    fn build(machines: &[&'static str]) -> Option<Self> {
        let name = format!("wavecrew-{}", std::process::id());
        let network = Self {
            name,
            machines: machines.to_vec(),
        };
        match network.try_build() {
            Ok(()) => Some(network),
            Err(reason) => {
                println!("skipped: network namespaces are not permitted here ({reason})");
                None
            }
        }
    }

    fn namespace(&self, machine: &str) -> String {
        format!("{}-{machine}", self.name)
    }

    fn try_build(&self) -> Result<(), String> {
        let server = self.namespace("server");
        ip(&format!("netns add {server}"))?;
        ip(&format!("-n {server} link set lo up"))?;
        for (number, machine) in self.machines.iter().enumerate() {
            let namespace = self.namespace(machine);
            ip(&format!("netns add {namespace}"))?;
            ip(&format!("-n {namespace} link set lo up"))?;
            ip(&format!(
                "-n {server} link add to-{machine} type veth peer name wire netns {namespace}"
            ))?;
            ip(&format!(
                "-n {server} addr add 10.77.{number}.1/24 dev to-{machine}"
            ))?;
            ip(&format!("-n {namespace} addr add 10.77.{number}.2/24 dev wire"))?;
            ip(&format!("-n {server} link set to-{machine} up"))?;
            ip(&format!("-n {namespace} link set wire up"))?;
        }
        Ok(())
    }

    fn url(&self, nats: &NatsServer, machine: &str) -> String {
        let number = self
            .machines
            .iter()
            .position(|known| *known == machine)
            .unwrap_or(0);
        format!("nats://10.77.{number}.1:{}", nats.port(0))
    }

    /// A command of the program on a machine.
    fn on(&self, machine: &str, sandbox: &Sandbox, words: &str) -> Command {
        let mut command = Command::new("ip");
        command
            .args(["netns", "exec", &self.namespace(machine)])
            .arg(program());
        command.args(words.split_whitespace());
        sandbox.prepare(&mut command);
        command
    }

    fn host(&self, nats: &NatsServer, machine: &str) -> Host {
        let sandbox = user();
        let words = format!(
            "worker --nats {} --name {machine} --slots 1",
            self.url(nats, machine)
        );
        let running = sandbox.spawn(&mut self.on(machine, &sandbox, &words));
        wait_until("a host that is ready", || running.stderr().contains("Ready"));
        Host {
            running,
            _sandbox: sandbox,
        }
    }

    fn link(&self, machine: &str, state: &str) {
        ip(&format!(
            "-n {} link set to-{machine} {state}",
            self.namespace("server")
        ))
        .unwrap();
    }
}

impl Drop for Network {
    fn drop(&mut self) {
        for machine in self.machines.iter().chain(&["server"]) {
            let _ = ip(&format!("netns del {}", self.namespace(machine)));
        }
    }
}

#[test]
fn a_host_behind_a_cut_link_is_replaced_and_ends_its_workers() {
    let Some(network) = Network::build(&["far", "near", "here"]) else {
        return;
    };
    let setup = NatsSetup {
        address: "0.0.0.0".to_owned(),
        prefix: ["ip", "netns", "exec", &network.namespace("server")]
            .map(str::to_owned)
            .to_vec(),
        ..NatsSetup::default()
    };
    let Some(nats) = NatsServer::with(&setup) else {
        return;
    };
    let far = network.host(&nats, "far");
    let sandbox = project("A,First,do a,maker,\nB,Second,do b,maker,A\n", "");
    let gate = sandbox.beside("gate");
    let work = format!(
        "while [ ! -e {} ]; do sleep 0.05; done\necho $WAVECREW_ATTEMPT > by-$WAVECREW_TASK.txt\n",
        gate.display()
    );
    sandbox.write("work.sh", work);
    let flags = words(&nats, "--place remote");
    let flags: Vec<String> = flags
        .iter()
        .map(|word| {
            word.to_string_lossy()
                .replace(&nats.url(), &network.url(&nats, "here"))
        })
        .collect();
    let run = sandbox.spawn(&mut network.on("here", &sandbox, &flags.join(" ")));
    wait_for_spawn(&sandbox, "A", "far");
    network.link("far", "down");
    let _near = network.host(&nats, "near");
    // The host ends its worker by itself, because no coordinator can reach it.
    wait_until("the end of the lost turn", || far.output().contains("[END] A"));
    assert!(far.output().contains("lease lost"), "{}", far.output());
    wait_for_spawn(&sandbox, "A", "near");
    network.link("far", "up");
    std::fs::write(&gate, "").unwrap();
    run.wait().ok();
    assert_eq!((completions(&sandbox, "A"), completions(&sandbox, "B")), (1, 1));
    assert_eq!(sandbox.text("by-A.txt"), "2\n", "{}", journal(&sandbox));
}
