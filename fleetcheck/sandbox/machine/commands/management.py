"""ipmitool: sensors, event log, chassis and power, as the BMC of a healthy node tells them."""

from __future__ import annotations

import re

from fleetcheck.sandbox.machine.commands.answers import Answers, fails, says, spelled
from fleetcheck.sandbox.machine.node import Node
from fleetcheck.sandbox.machine.nvml import idle_milliwatts

BOARD_WATTS = 900
FANS = 10


def node_watts(node: Node) -> int:
    """What the node draws at idle: its GPUs and the rest of the board."""
    gpus = node.base.gpus
    return BOARD_WATTS + (sum(idle_milliwatts(node, gpus, slot.index) for slot in node.slots) // 1000 if gpus else 0)


def commands(node: Node) -> Answers:
    """All supplies present, fans turning, an event log that holds nothing but its clearing."""
    sensors = _sensors(node)
    lists = spelled(("ipmitool sdr", "ipmitool sdr list"), says("".join(sensors)))
    lists["ipmitool sdr elist"] = says("".join(_extended(number, line) for number, line in enumerate(sensors)))
    watts = node_watts(node)
    cleared = node.moment.ago(86_400 * 120).strftime("%m/%d/%Y | %H:%M:%S")
    log = f"   1 | {cleared} UTC | Event Logging Disabled SEL_Status | Log area reset/cleared | Asserted\n"
    power = (f"\n    Instantaneous power reading:                  {watts:>5} Watts\n"
             f"    Minimum during sampling period:               {watts - 60:>5} Watts\n"
             f"    Maximum during sampling period:               {watts + 80:>5} Watts\n"
             f"    Average power reading over sample period:     {watts + 4:>5} Watts\n"
             f"    IPMI timestamp:                           {node.moment.ago(1):%a %b %d %H:%M:%S %Y}\n"
             "    Sampling period:                          00000001 Seconds.\n"
             "    Power reading state is:                   activated\n\n")
    return lists | {
        "ipmitool": fails("No command provided!\n"),
        "ipmitool sel": says("SEL Information\nVersion          : 1.5 (v1.5, v2 compliant)\nEntries          : 1\n"
                             "Percent Used     : 0%\n"),
        "ipmitool sel time get": says(f"{node.moment.ago(0):%m/%d/%Y %H:%M:%S} UTC\n"),
        **spelled(("ipmitool sel elist", "ipmitool sel list"), says(log)), "ipmitool dcmi power reading": says(power),
        "ipmitool chassis status": says(_CHASSIS),
        "ipmitool mc info": says("Device ID                 : 32\nFirmware Revision         : 1.04\n"
                                 "IPMI Version              : 2.0\nManufacturer Name         : "
                                 f"{node.base.server.bmc}\n"),
        "ipmitool chassis power status": says("Chassis Power is on\n"),
        "ipmitool power status": says("Chassis Power is on\n"),
        **{f"ipmitool sdr type {kind}": says("".join(line for line in sensors if kind in line or _kind(line) == kind))
           for kind in ("Temperature", "Fan", "Power")},
    }


_CHASSIS = """System Power         : on
Power Overload       : false
Power Interlock      : inactive
Main Power Fault     : false
Power Control Fault  : false
Power Restore Policy : always-on
Last Power Event     :
Chassis Intrusion    : inactive
Front-Panel Lockout  : inactive
Drive Fault          : false
Cooling/Fan Fault    : false
"""


def _sensors(node: Node) -> list[str]:
    server, pick = node.base.server, node.identity.pick
    values = {"Inlet Temp": f"{pick(21, 25, 'inlet')} degrees C", "Outlet Temp": f"{pick(33, 38, 'outlet')} degrees C",
              "PCH Temp": "47 degrees C"}
    values |= {f"CPU{socket + 1} Temp": f"{41 + socket} degrees C" for socket in range(node.base.cpus.sockets)}
    values |= {f"FAN{number + 1}": f"{pick(52, 61, 'fan', number) * 100} RPM" for number in range(FANS)}
    values |= {f"PS{number + 1} Status": "Presence detected" for number in range(server.supplies)}
    values |= {f"PS{number + 1} Input Power": f"{node_watts(node) // server.supplies} Watts"
               for number in range(server.supplies)}
    values["Pwr Consumption"] = f"{node_watts(node)} Watts"
    return [f"{name:<16} | {value:<17} | ok\n" for name, value in values.items()]


def _extended(number: int, line: str) -> str:
    """A line of ``sdr list`` as ``sdr elist`` has it: number and entity of the sensor between name and reading."""
    name, reading, status = (word.strip() for word in line.split("|"))
    return f"{name:<16} | {number + 1:02X}h | {status:<3} | {_entity(name):>4} | {reading}\n"


_ENTITIES = {"CPU": 3, "PS": 10, "FAN": 29}
"""Prefix of a name → what it belongs to (IPMI 2.0 specification, table 43-13)."""


def _entity(name: str) -> str:
    found = re.match(r"([A-Z]+)(\d+)", name)
    return f"{_ENTITIES.get(found[1], 7)}.{found[2]}" if found else "7.1"


def _kind(line: str) -> str:
    return "Temperature" if "degrees" in line else "Fan" if "RPM" in line else "Power"
